package openb

import (
	"fmt"
	"io"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

var (
	nodeColumns = []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}
	taskColumns = []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}
	// The multi-GPU variants have none of these.
	moreTaskColumns = []string{"gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time"}
)

// ReadNodes reads a node list: columns sn, cpu_milli, memory_mib, gpu (a count,
// 0 for a node without GPU) and model. The file may be gzip; name stands for it
// in errors, which name file, line, column and value and wrap ErrBadFile: an
// empty file, one that is cut off within a line (the last one must end too), an
// unknown, missing or repeated column, a name twice, an amount that is negative,
// too large or no whole number. A plain file that is cut off between two lines
// cannot be told from a whole one.
func ReadNodes(r io.Reader, name string) ([]placement.NodeSpec, error) {
	t, err := open(r, name, nodeColumns, nil)
	if err != nil {
		return nil, err
	}
	var nodes []placement.NodeSpec
	for {
		more, err := t.next()
		if err != nil {
			return nil, err
		}
		if !more {
			return nodes, nil
		}
		n, err := t.node()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
}

func (t *table) node() (n placement.NodeSpec, err error) {
	if n.Name, err = t.name("sn"); err != nil {
		return n, err
	}
	if n.CPU, err = t.amount("cpu_milli", most); err != nil {
		return n, err
	}
	if n.Memory, err = t.amount("memory_mib", most); err != nil {
		return n, err
	}
	gpus, err := t.amount("gpu", fragmentation.MostGPUs)
	if err != nil {
		return n, err
	}
	if gpus > 0 {
		n.Model = string([]byte(t.text("model")))
		n.GPUs = make([]placement.GPUSpec, gpus)
	}
	return n, nil
}

// ReadTasks reads a task list: columns name, cpu_milli, memory_mib, num_gpu,
// gpu_milli (on each GPU) and perhaps gpu_spec (accepted models). The other
// columns of the published files (qos, phase and times) may be there and are
// not read. The file may be gzip; name stands for it in errors, which are those
// of ReadNodes, or about a request that no task can make, as for one and a half
// GPUs.
func ReadTasks(r io.Reader, name string) ([]placement.Task, error) {
	t, err := open(r, name, taskColumns, moreTaskColumns)
	if err != nil {
		return nil, err
	}
	var tasks []placement.Task
	shapes := map[fragmentation.Shape]fragmentation.Shape{} // so that equal ones share their texts
	for {
		more, err := t.next()
		if err != nil {
			return nil, err
		}
		if !more {
			return tasks, nil
		}
		task, err := t.task()
		if err != nil {
			return nil, err
		}
		if same, found := shapes[task.Shape]; found {
			task.Shape = same
		} else {
			shapes[task.Shape] = task.Shape
		}
		tasks = append(tasks, task)
	}
}

func (t *table) task() (task placement.Task, err error) {
	if task.ID, err = t.name("name"); err != nil {
		return task, err
	}
	s := &task.Shape
	if s.CPU, err = t.amount("cpu_milli", most); err != nil {
		return task, err
	}
	if s.Memory, err = t.amount("memory_mib", most); err != nil {
		return task, err
	}
	gpus, err := t.amount("num_gpu", fragmentation.MostGPUs)
	if err != nil {
		return task, err
	}
	s.GPUs = int(gpus)
	if s.Milli, err = t.amount("gpu_milli", most); err != nil {
		return task, err
	}
	s.Models = fragmentation.Models(string([]byte(t.text("gpu_spec"))))
	if err := s.Validate(); err != nil {
		return task, t.bad(t.column["gpu_milli"], t.text("gpu_milli"), fmt.Sprintf("with num_gpu %d: %v", gpus, err))
	}
	return task, nil
}
