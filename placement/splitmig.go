package placement

// SplitMIG returns the policy that asks one policy about requests for MIG
// instances and another about all other tasks: the two never compete for a GPU,
// and what is a good step for one need not be for the other.
func SplitMIG(instances, others Policy) Policy { return splitMIG{instances, others} }

type splitMIG struct{ instances, others Policy }

// PerTask reports whether either policy looks at the task's ID.
func (p splitMIG) PerTask() bool { return perTask(p.instances) || perTask(p.others) }

func (p splitMIG) Choose(n *Node, t *Task) Choice {
	if t.Shape.Profile != "" {
		return p.instances.Choose(n, t)
	}
	return p.others.Choose(n, t)
}

// perTask reports whether a policy says that it looks at the task's ID.
func perTask(p Policy) bool {
	per, ok := p.(interface{ PerTask() bool })
	return ok && per.PerTask()
}
