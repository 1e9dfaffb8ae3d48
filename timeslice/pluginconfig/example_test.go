package pluginconfig_test

import (
	"fmt"

	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

// Lint tells what the plugin would drop in silence.
func ExampleLint() {
	_, findings := pluginconfig.Lint([]byte(`version: v1
flags:
  renameByDefault: true
sharing:
  timeSlicing:
    failRequestsGreaterThanOne: true
    resources:
    - name: nvidia.com/gpu
      rename: nvidia.com/gpu.mine
      devices: [0, 1]
      replicas: 4
`), "node.yaml")
	for _, f := range findings {
		fmt.Println(f)
	}
	// Output:
	// 3:3: warning: flags.renameByDefault: the device plugin ignores it here: renameByDefault belongs under sharing.timeSlicing or sharing.mps [wrong-parent]
	// 9:7: warning: sharing.timeSlicing.resources[0].rename: the device plugin drops nvidia.com/gpu.mine when it starts: replicas are advertised as nvidia.com/gpu [rename-reset]
	// 10:7: warning: sharing.timeSlicing.resources[0].devices: the device plugin drops the selection when it starts: all devices of nvidia.com/gpu are shared [devices-reset]
}

// What the plugin advertises, and what somebody who reads the file expects.
func ExampleAdvertise() {
	c, _ := pluginconfig.Lint([]byte(`
sharing:
  timeSlicing:
    resources:
    - {name: gpu, rename: gpu.small, devices: [0], replicas: 4}
`), "node.yaml")
	node := pluginconfig.Inventory{
		{Product: "NVIDIA A10", Memory: 23028}, {Product: "NVIDIA A10", Memory: 23028},
	}
	for _, mode := range []pluginconfig.Mode{pluginconfig.AsPlugin, pluginconfig.AsWritten} {
		n, err := pluginconfig.Advertise(c, node, mode)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range n.Resources {
			fmt.Println(r.Name, r.Count)
		}
		fmt.Println(n.Labels["nvidia.com/gpu.product"], n.Labels["nvidia.com/gpu.replicas"])
	}
	// Output:
	// nvidia.com/gpu 8
	// NVIDIA-A10-SHARED 4
	// nvidia.com/gpu 1
	// nvidia.com/gpu.small 4
	// NVIDIA-A10 4
}
