package main

const usage = `migctl reads and changes how the GPUs of a machine are cut by MIG.

Usage: migctl COMMAND MACHINE [-gpu GPU,...] [flags] [-json]

MACHINE is one of
  -fake NAME   a fresh fake machine, kept nowhere: dgx-a100, dgx-a100-40gb,
               dgx-h100 or dgx-b200
  -fake FILE   a fake machine that keeps its state in a file between runs: see init
  -nvml        this machine, through its driver
GPU is an index or a UUID; all GPUs where -gpu is not given.

Questions, which change nothing:
  state                           how the GPUs are cut, with the UUIDs of the MIG devices
  blockers                        who holds the GPUs, as far as NVML lists it
  assert -f FILE [-label L] [-strict]
        is the machine as a mig-parted file says? -strict: also no GPU is left out
  export [-label L]               the machine as a mig-parted file; with -json also where
                                  each instance begins, which such a file cannot say
  verify [-strict]
        does what the GPUs report agree with the tables of this program? memory,
        which differs by driver, counts with -strict only

Changes:
  apply -f FILE [-label L]        as a mig-parted file says
  apply -want PROFILE=N,...       exactly these instances on the GPU (or "none")
  apply -plan FILE                a plan, as "migplan plan -out FILE" writes it
  restore FILE [-by-index]        what export wrote, as after a reboot or a driver
                                  upgrade: with -json exactly the same layout, else the
                                  same instances; -by-index: on other boards
  undo                            back to what stood there before the last change
  resume                          the rest of the last change, as after a crash; after
                                  an undo, the change once more
Each switches MIG mode where needed. An instance that a process uses is never
destroyed. All plans are made before anything is changed. They take
  -dry-run         show the plans, change nothing (apply and restore)
  -journal DIR     where the change is recorded, for undo and resume: FILE.journal
                   beside a fake machine where not given, needed with -nvml
  -reset           with -nvml: let "nvidia-smi --gpu-reset" bring a pending mode
                   into force; a fake GPU is always reset for that
  -timeout D       of a single call into the driver: 2m where not given, 0 for ever
  -lock FILE       take turns with other processes; -wait D: for so long (10s)
  -crash-after N   end after N steps as a crash would (a fake machine only)

Fake machines:
  init -fake NAME|FILE -to FILE   write a machine to a new file
  init -model MODEL,... -to FILE [-mig=false]
  reboot -fake FILE               restart the machine
  hold -fake FILE -gpu GPU -gi ID [-ci ID] [-pid P] [-name NAME] [-mib M]
        a process runs in a MIG device; a holder that no list shows can be written
        into FILE: "holders": [{"name": "nvidia_drm", "hidden": true}]
  kill -fake FILE -pid P          it ends

Exit status: 0 done, 1 the answer is no, with the reason, 2 bad usage or input. No
means: something is not as asserted or verified, a process holds a GPU (blockers),
a change is impossible, or was not carried out to its end.
`
