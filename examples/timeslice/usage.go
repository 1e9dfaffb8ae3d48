package main

const usage = `timeslice shows what sharing a GPU in time does. Only vgpu -nvml needs one.

Usage:
  timeslice simulate -clients CLIENT,... | -f FILE [flags]
        who runs when under a scheduler, as a chart and in figures
  timeslice lint -f FILE
        what is wrong with a device plugin's sharing config, or not as it seems
  timeslice advertise -f FILE -inventory GPU;... [flags]
        what a node advertises under it, as the plugin does and as written
  timeslice governor [flags]
        what launch governors cost and what they are worth to a protected tenant
  timeslice vgpu WHAT -nvml | -fake MODEL,...|FILE [flags]
        the vGPU schedulers of a machine: get, capabilities, set, log
  timeslice registry VALUE | -policy P [flags]
        what a value of the driver's registry key RmPVMRL means, or which one to write

"timeslice COMMAND -h" says more of each. All take -json.
Exit status: 0 done, 1 the answer is no, 2 bad usage or input, 130 interrupted.
`
