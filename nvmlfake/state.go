package nvmlfake

import (
	"cmp"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// gpuState is a GPU as the driver knows it. The server's lock guards all state.
type gpuState struct {
	srv     *Server
	index   int
	model   *mig.Model
	table   *mig.Model                      // the model again, if it was configured and not looked up
	spec    mig.Spec                        // with synthetic figures where the table has none
	offers  map[string][]mig.ComputeProfile // by the name of the GPU instance's profile
	product string
	pciID   uint32
	uuid    string

	current, pending bool // MIG mode

	layout    mig.Layout
	instances []*giState // by id
	created   uint64     // MIG devices ever created: the next UUID's number

	holders holders // of the whole GPU

	vgpuHost bool
	vgpu     vgpuState // of the GPU without MIG

	lastSeen map[int]*ciState // by MIG device index, gone or not
}

// giState is a GPU instance. It is never used again once it is gone, so that
// old handles stay dead when ids are reused.
type giState struct {
	gpu       *gpuState
	id        int
	profile   mig.Profile
	start     int
	instances []*ciState // by id
	holders   holders
	vgpu      vgpuState
	gone      bool
}

// ciState is a compute instance and the MIG device that it makes visible.
type ciState struct {
	gi      *giState
	id      int
	profile mig.ComputeProfile
	start   int
	index   int // of the MIG device
	uuid    string
	holders holders
	gone    bool
}

// maxMIGDevices is the bound that NVML reports: one per compute slice.
func (g *gpuState) maxMIGDevices() int {
	if !g.current {
		return 0
	}
	return g.spec.ComputeSlices
}

// create adds a GPU instance that the layout has room for.
func (g *gpuState) create(p mig.Profile, start int) (*giState, error) {
	layout, err := g.layout.With(p, start)
	if err != nil {
		return nil, err
	}
	gi := &giState{gpu: g, id: gpuInstanceID(g.spec.MemorySlices, p.Size, start), profile: p, start: start}
	for slices.ContainsFunc(g.instances, func(x *giState) bool { return x.id == gi.id }) {
		gi.id++
	}
	g.layout = layout
	g.instances = append(g.instances, gi)
	slices.SortFunc(g.instances, func(a, b *giState) int { return cmp.Compare(a.id, b.id) })
	return gi, nil
}

// destroy removes a GPU instance with what is in it.
func (g *gpuState) destroy(gi *giState) {
	for _, ci := range gi.instances {
		ci.gone = true
	}
	gi.gone, gi.instances = true, nil
	g.instances = slices.DeleteFunc(g.instances, func(x *giState) bool { return x == gi })
	// The layout holds what the list holds, so the start is there.
	g.layout, _ = g.layout.Without(gi.start)
}

func (g *gpuState) destroyAll() {
	for len(g.instances) > 0 {
		g.destroy(g.instances[0])
	}
	g.lastSeen = nil
}

// migDevice returns the compute instance behind a MIG device index, or nil.
func (g *gpuState) migDevice(index int) *ciState {
	return g.find(func(ci *ciState) bool { return ci.index == index })
}

func (g *gpuState) find(match func(*ciState) bool) *ciState {
	for _, gi := range g.instances {
		for _, ci := range gi.instances {
			if match(ci) {
				return ci
			}
		}
	}
	return nil
}

// create adds a compute instance that there is room for. Its id and its MIG
// device's index are the lowest free ones.
func (gi *giState) create(p mig.ComputeProfile, start int) *ciState {
	g := gi.gpu
	ci := &ciState{gi: gi, profile: p, start: start, uuid: g.nextUUID()}
	ci.id, ci.index = gi.lowestFreeID(), g.lowestFreeIndex()
	g.remember(ci)
	gi.instances = append(gi.instances, ci)
	slices.SortFunc(gi.instances, func(a, b *ciState) int { return cmp.Compare(a.id, b.id) })
	return ci
}

func (gi *giState) lowestFreeID() int {
	id := 0
	for slices.ContainsFunc(gi.instances, func(x *ciState) bool { return x.id == id }) {
		id++
	}
	return id
}

func (g *gpuState) lowestFreeIndex() int {
	index := 0
	for g.migDevice(index) != nil {
		index++
	}
	return index
}

func (g *gpuState) remember(ci *ciState) {
	if g.lastSeen == nil {
		g.lastSeen = map[int]*ciState{}
	}
	g.lastSeen[ci.index] = ci
}

func (g *gpuState) liveDevices() int {
	n := 0
	for _, gi := range g.instances {
		n += len(gi.instances)
	}
	return n
}

// nextUUID returns the UUID of the MIG device that is created next. Only one that
// a snapshot brought can be there already.
func (g *gpuState) nextUUID() string {
	for {
		uuid := migUUID(g.srv.seed, g.index, g.created)
		g.created++
		if !g.srv.hasMIGDevice(uuid) {
			return uuid
		}
	}
}

func (s *Server) hasMIGDevice(uuid string) bool {
	return slices.ContainsFunc(s.gpus, func(g *gpuState) bool {
		return g.find(func(ci *ciState) bool { return ci.uuid == uuid }) != nil
	})
}

func (gi *giState) destroy(ci *ciState) {
	ci.gone = true
	gi.instances = slices.DeleteFunc(gi.instances, func(x *ciState) bool { return x == ci })
}
