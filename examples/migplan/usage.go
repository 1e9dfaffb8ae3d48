package main

const usage = `migplan answers questions about MIG layouts, without a GPU.

Usage:
  migplan models [-json]
        the GPU models that are known
  migplan profiles -model M [-json]
        what a model can be cut into, and where
  migplan layouts -model M [-maximal] [-profiles PROFILE,...] [-json]
        the layouts that exist, and how many
  migplan fit -model M -want PROFILE=N,... [-have PROFILE@START,...] [-json]
        does a demand fit beside what is there?
  migplan fit -gpus GPU;... -want PROFILE=N,... [-json]
        does it fit on many GPUs, and on which at the least weight? GPU is
        [COUNT*]MODEL[:PROFILE@START,...][=WEIGHT]; a weight of 1 where not given
  migplan smallest -model M -memory MIB [-sms N] [-attrs +me] [-json]
        the smallest profile with so much memory and so many multiprocessors
  migplan mix -model M -gpus N -requests PROFILE=COUNT[:VALUE],... [-json]
        how to cut N GPUs to serve requests of the most value; one is worth its
        memory slices where no value is given
  migplan plan -model M [-have PROFILE@START,...] QUESTION [-out FILE] [-json]
        how to get there from what is there, with the fewest victims;
        -out writes the plan as a file
  migplan cost -model M [-have PROFILE@START,...] QUESTION [CONSTANTS] [-gain G] [-json]
  migplan cost -plan FILE [CONSTANTS] [-gain G] [-json]
        what a plan costs, and when it has paid for itself if it gains the work
        of G memory slices (1 where not given)
  migplan lint -f FILE [-model M,...] [-json]
        can the configurations of a mig-parted file work? -f - is standard input;
        -model names the models that entries without device-filter are for

QUESTION is one of
  -want PROFILE=N,...      exactly this shall stand there; what else is there goes
  -add PROFILE=N,...       this shall find room; idle instances serve or make way
  -goal PROFILE@START,...  exactly these instances shall stand there; '' is none
and may say of what is there
  -busy START,...          it is in use and must stay (or PROFILE@START,...)
  -loss START=SECONDS,...  so many seconds of its work are lost if it goes
                           (or PROFILE@START=SECONDS,...)
CONSTANTS are durations such as 1.5s, in place of the default ones:
  -destroy, -create                    of a GPU instance
  -destroy-compute, -create-compute    of a compute instance
  -job-setup                           until a job works in a new instance

M is a key such as a100-40gb or a product name of NVML. START is a memory slice.
Exit status: 0 done, 1 the answer is no, 2 bad usage or input. For lint, 1 means
that there is an error in the file.
`
