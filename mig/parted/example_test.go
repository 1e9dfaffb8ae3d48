package parted_test

import (
	"fmt"
	"os"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

// What would a review of this file say, without any hardware?
func ExampleLintFile() {
	file := `version: v1
mig-configs:
  full:
    - devices: all
      mig-enabled: true
      mig-devices:
        "1g.10gb": 4
        "1g.5gb": 3
  media:
    - devices: all
      mig-enabled: true
      mig-devices: {"2g.12gb+me": 2}
  idle:
    - devices: all
      device-filter: "0x10DE20B7"
      mig-enabled: false
`
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range parted.LintFile([]byte(file), "config.yaml", m) {
		fmt.Println(f)
	}
	// Output:
	// 8:9: error: label "full": model a100-40gb: 1g.10gb=4,1g.5gb=3 does not fit: memory: 11 memory slices needed in all, the GPU has 8
	// 12:21: warning: label "media": model a100-40gb: 2g.12gb+me is the name of another model (a30-24gb)
	// 13:3: warning: label "idle": model a100-40gb: no entry matches a GPU of this model: it keeps its state
	// 15:22: warning: label "idle": the filter "0x10DE20B7" has the vendor first: it matches no GPU; 0x20B710DE is meant
}

func ExampleConfig_Select() {
	c, err := parted.Parse([]byte(`version: v1
mig-configs:
  all-1g.10gb:
    - device-filter: "0x20B210DE"
      devices: all
      mig-enabled: true
      mig-devices: {"1g.10gb": 7}
    - device-filter: "0x20B010DE"
      devices: all
      mig-enabled: true
      mig-devices: {"1g.10gb": 4}
`), "config.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := c.Select("all-1g.10gb", []parted.GPU{
		{Index: 0, PCI: 0x20B010DE, Capable: true},
		{Index: 1, PCI: 0x20B210DE, Capable: true},
		{Index: 2, PCI: 0x20B710DE, Capable: true},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range s.Targets {
		if t.Entry == nil {
			fmt.Println("GPU", t.GPU.Index, "keeps its state")
			continue
		}
		fmt.Println("GPU", t.GPU.Index, t.Entry.Demand())
	}
	// Output:
	// GPU 0 1g.10gb=4
	// GPU 1 1g.10gb=7
	// GPU 2 keeps its state
}

func ExampleConfig_Assert() {
	c, err := parted.Parse([]byte(`{"version": "v1", "mig-configs": {"x": [
		{"devices": [0], "mig-enabled": true, "mig-devices": {"1c.1g.5gb": 2, "3g.20gb": 1}}]}}`), "config.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := parted.GPU{PCI: 0x20B010DE, Capable: true}
	r, err := c.Assert("", []parted.State{{GPU: gpu, Enabled: true, Instances: mig.Demand{"1g.5gb": 2, "2g.10gb": 1}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range r.Differences {
		fmt.Println(d)
	}
	// Output: GPU 0: missing 3g.20gb=1; surplus 2g.10gb=1
}

func ExampleExport() {
	state := func(index int, pci uint32, instances mig.Demand) parted.State {
		return parted.State{GPU: parted.GPU{Index: index, PCI: pci, Capable: true}, Enabled: true, Instances: instances}
	}
	c, err := parted.Export([]parted.State{
		state(0, 0x20B010DE, mig.Demand{"3g.20gb": 2}),
		state(1, 0x20B010DE, mig.Demand{"3g.20gb": 2}),
		state(2, 0x20B710DE, mig.Demand{"1g.6gb": 4}),
	}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := parted.Write(os.Stdout, c); err != nil {
		fmt.Println(err)
	}
	// Output:
	// version: v1
	// mig-configs:
	//   current:
	//     - device-filter: "0x20B010DE"
	//       devices: all
	//       mig-enabled: true
	//       mig-devices:
	//         "3g.20gb": 2
	//     - device-filter: "0x20B710DE"
	//       devices: all
	//       mig-enabled: true
	//       mig-devices:
	//         "1g.6gb": 4
}
