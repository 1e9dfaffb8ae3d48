package main

const usage = `mpsctl asks and changes what the control daemon of NVIDIA MPS serves.

Usage: mpsctl COMMAND [DAEMON] [flags] [-json]

DAEMON is the one that the environment or the default directories name, unless
  -pipe DIR -log DIR     its directories
  -protocol 2|3          what it speaks; it is asked where not given. 3 has another
                         default pipe directory for root
  -program PATH          nvidia-cuda-mps-control, looked up in PATH where not given
  -timeout D             for each run of it: 10s where not given
  -fake                  a fake daemon with two GPUs and two clients, 501 and 502,
                         started for this one command
  -replies quiet|wordy|failing|silent
                         how the fake words what nobody has published

Questions, which change nothing:
  status                        is it there, and does it take new clients?
  servers                       its servers, and the devices as clients count them
  clients [-server S]           who uses them; S is a pid, with protocol 3 a name
  limits get [-server S] [-device D,...]
        what servers start with, or the limits of one server; D is what the limit was
        set for, an ordinal or a UUID (0 where not given). Protocol 3: the limits of
        the namespaces
  partition list                the static SM partitions, and what is free. Protocol
                                3: [-server S] [-device D]
  watch [-every D] [-for D] [-all] [-from-start]
        state changes and what the logs say, until interrupted or for so long.
        -all: also lines that mean nothing or are not known; -from-start: also what
        the logs hold already. The fake plays a fault and the recovery

Changes, each read back:
  limits set [-percent P] [-memory D=LIMIT,...] [-priority 0|1] [-server S]
        what later servers start with; with -server what its later clients get.
        LIMIT is 4G or 512M. Protocol 3: -server S, [-namespace N], -memory LIMIT.
        -accept-unread: also a value that the daemon does not tell back
  partition add -device UUID -chunks N      protocol 3: -server S -name N [-remainder]
  partition remove -id UUID/ID              protocol 3: -server S -device D -name N
  terminate -client PID,... [-server S]
        ends the work of clients and says whether killing them is safe; S may be left
        out if there is one server

Without a daemon:
  share DEVICE CLIENTS [-even | -budget P | -by-sms]
        multiprocessors, percentage and memory limit of each client, and what is
        stranded: in the fair way that strands least, or -even as NVIDIA's device
        plugin for Kubernetes does. The percentages sum to at most P (100 where not
        given; above 100 shares overlap), -by-sms: the multiprocessors do
  plan -uuid UUID DEVICE CLIENTS [-even | …]
        environment, mounts and limits of a daemon for one GPU or MIG instance and of
        its clients, as data for a container runtime
        -pipe DIR, -log DIR  its directories: UUID below /run/mps and
                             /var/log/mps where not given
        -client-pipe DIR     where clients see the pipe directory
        -shm DIR             what they all have as /dev/shm
        -max-clients N       of the driver: 48 where not given; later ones have 60
        -max-connections N   CUDA_DEVICE_MAX_CONNECTIONS of the clients
  fake -dir DIR [-protocol 2|3] [-static] [-replies R] [-for D]
        the fake daemon of -fake, until interrupted, for commands in another shell

DEVICE is
  -model M [-profile P]  a key such as h100-80gb-sxm5 or a product name of NVML, or a
                         MIG profile of it
  -sms N -memory MIB     another device; each also overrides what the tables say
CLIENTS is
  -clients W,...         a weight for each, 3,2,1
  -n N                   so many of equal weight
A limit holds for each process of a client, and limits nothing that runs without MPS.

Exit status: 0 done, 1 the answer is no, with the reason, 2 bad usage or input, 130
interrupted. No means: there is no daemon, it refuses or does not answer in time, it
takes no new clients (status), a value was not read back as set, or a kill is not safe.
`
