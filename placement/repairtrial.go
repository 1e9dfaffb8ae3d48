package placement

import (
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
)

// trial is the cluster with some views replaced.
type trial struct {
	r       *Repairer
	changed []change
}

type change struct {
	index int
	node  *Node
}

func (t *trial) node(i int) *Node {
	for _, c := range t.changed {
		if c.index == i {
			return c.node
		}
	}
	return t.r.cluster.nodes[i]
}

func (t *trial) set(i int, n *Node) {
	for j := range t.changed {
		if t.changed[j].index == i {
			t.changed[j].node = n
			return
		}
	}
	t.changed = append(t.changed, change{i, n})
}

// choose is Cluster.Choose on the trial; -1 where the task fits nowhere.
func (t *trial) choose(task *Task) (int, Choice) {
	best, at := Choice{}, -1
	better := func(i int, c *Choice) {
		if c.OK() && (at < 0 || c.Score > best.Score || c.Score == best.Score && i < at) {
			best, at = *c, i
		}
	}
	answers, front := t.r.ranked(task)
	unchanged := 0
	for _, i := range front {
		if !t.replaces(i) {
			unchanged++
			better(i, &answers[i].choice)
			break // the others rank lower
		}
	}
	if unchanged == 0 && len(front) == frontNodes { // there may be more behind
		for i := range answers {
			if !t.replaces(i) {
				better(i, &answers[i].choice)
			}
		}
	}
	for _, c := range t.changed {
		choice := t.r.policy.Choose(c.node, task)
		better(c.index, &choice)
	}
	return at, best
}

func (t *trial) replaces(i int) bool {
	for _, c := range t.changed {
		if c.index == i {
			return true
		}
	}
	return false
}

// frontNodes is how many of the best nodes are kept in order. A trial replaces
// two in most cases.
const frontNodes = 4

// ranked brings what is remembered about a kind of task up to date, and returns
// it with the nodes that take the task best, in order. Until the next look it does
// so once.
func (r *Repairer) ranked(task *Task) ([]answer, []int) {
	kind := *task
	kind.ID = ""
	answers := r.answers(task)
	if front, known := r.known.fronts[kind]; known && r.memory != nil {
		return answers, front
	}
	front := make([]int, 0, frontNodes)
	for i, n := range r.cluster.nodes {
		a := &answers[i]
		if a.node != n {
			*a = answer{n, r.policy.Choose(n, task)}
		}
		if !a.choice.OK() {
			continue
		}
		j := len(front) // behind those of equal score, which come first
		for j > 0 && answers[front[j-1]].choice.Score < a.choice.Score {
			j--
		}
		if j == frontNodes {
			continue
		}
		if len(front) == frontNodes {
			front = front[:frontNodes-1]
		}
		front = slices.Insert(front, j, i)
	}
	r.known.fronts[kind] = front
	return answers, front
}

// answers returns what is remembered about a kind of task.
func (r *Repairer) answers(task *Task) []answer {
	if r.memory == nil {
		return make([]answer, len(r.cluster.nodes))
	}
	kind := *task
	kind.ID = ""
	all, found := r.memory[kind]
	if !found || len(all) != len(r.cluster.nodes) {
		all = make([]answer, len(r.cluster.nodes))
		r.memory[kind] = all
	}
	return all
}

// summary lists the tasks of a node view that may be moved, one of each kind and
// of each spot that matters.
type summary struct {
	node  *Node
	tasks []*placed
}

// on returns the summary of a node. Where several tasks of equal shape hold equal
// amounts, moving one is as good as moving the other.
func (r *Repairer) on(i int) []*placed {
	n := r.cluster.nodes[i]
	if len(r.lists) != len(r.cluster.nodes) {
		r.lists = make([]summary, len(r.cluster.nodes))
	}
	if s := &r.lists[i]; s.node == n {
		return s.tasks
	}
	var list []*placed
next:
	for j := range n.tasks {
		p := &n.tasks[j]
		if !r.movable(p) {
			continue
		}
		for _, q := range list {
			if q.Task.Shape == p.Task.Shape && alike(n, q.spot, p.spot) {
				continue next
			}
		}
		list = append(list, p)
	}
	r.lists[i] = summary{n, list}
	return list
}

// alike reports whether two tasks of equal shape on a node are on GPUs that stand
// alike.
func alike(n *Node, a, b Spot) bool {
	if a.GPUs == 0 || a == b {
		return true
	}
	if a.GPUs.Len() > 1 || a.Start != b.Start {
		return a.GPUs.Len() > 1 && b.GPUs.Len() > 1
	}
	return n.state.GPUs[a.GPUs.First()] == n.state.GPUs[b.GPUs.First()]
}

// findings is what searches found out about the cluster as it stands: it holds
// until a node changes.
type findings struct {
	views   []*Node
	fronts  map[Task][]int               // the best nodes, by task without ID
	stuck   map[fragmentation.Shape]bool // tasks that fit nowhere as it is
	holders map[gpuShare][]holder
	failed  map[fragmentation.Shape]int // the most moves with which a task found no room
}

// look forgets what was found out if a node has changed. A policy that looks at a
// task's ID answers anew every time.
func (r *Repairer) look() {
	if r.known.stuck != nil && r.memory != nil && slices.Equal(r.known.views, r.cluster.nodes) {
		return
	}
	r.known = findings{
		views:  append(r.known.views[:0], r.cluster.nodes...),
		fronts: map[Task][]int{}, stuck: map[fragmentation.Shape]bool{}, failed: map[fragmentation.Shape]int{},
	}
}

// stuck reports whether a task fits nowhere but where it is.
func (r *Repairer) stuck(x *placed) bool {
	is, known := r.known.stuck[x.Task.Shape]
	if !known {
		at, _ := (&trial{r: r}).choose(&x.Task)
		is = at < 0
		r.known.stuck[x.Task.Shape] = is
	}
	return is
}
