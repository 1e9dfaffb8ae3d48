package fragmentation

// FillSequences returns the sequences of an expected fill, given what NewFill was
// given, with their weights.
func FillSequences(mix Mix, options FillOptions) ([][]Shape, []int64, error) {
	part, err := mix.part(func(s *Shape) bool { return s.GPUs > 0 && s.Profile == "" })
	if err != nil {
		return nil, nil, err
	}
	d := newFillDraw(part.withoutMemory(), options.Sequences, options.Length, options.Seed)
	var all [][]Shape
	drawn := d.sequences(options.Length)
	for ; len(drawn) > 0; drawn = drawn[options.Length:] {
		all = append(all, drawn[:options.Length])
	}
	return all, d.weight, nil
}

// SplitMix returns the first numbers of the generator.
func SplitMix(seed uint64, n int) []uint64 {
	r := splitMix(seed)
	var numbers []uint64
	for range n {
		numbers = append(numbers, r.next())
	}
	return numbers
}
