package placement

// Apply is Cluster.Apply. The views of the nodes are published one by one: a
// reader may for a moment see a moved task on both nodes or on none, as it may
// where one task is released and another placed.
func (e *Engine) Apply(moves []Move) error {
	if err := e.cluster.Apply(moves); err != nil {
		return err
	}
	published := map[string]bool{"": true}
	for _, m := range moves {
		for _, name := range []string{m.From.Node, m.To.Node} {
			if !published[name] {
				published[name] = true
				e.publish(name)
			}
		}
	}
	return nil
}

// Plans is Cluster.Plans for the engine's cluster. It is for the writer.
func (e *Engine) Plans(moves []Move) ([]DevicePlan, error) { return e.cluster.Plans(moves) }

// Repairer returns a Repairer for the engine's cluster, with its policy of now: see
// Repairer.Use. It is for the writer, and its Apply is the engine's. The error is
// that of NewRepairer.
func (e *Engine) Repairer(rule Repair) (*Repairer, error) {
	r, err := NewRepairer(e.cluster, e.policy, rule)
	if err != nil {
		return nil, err
	}
	r.apply = e.Apply
	return r, nil
}
