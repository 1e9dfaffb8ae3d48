package main

import (
	"fmt"
	"strings"
)

// eachOnce writes a text for each GPU after its index, one that several GPUs share
// once for all of them.
func eachOnce[T any](list []T, about func(T) (index int, text string)) string {
	var texts []string
	gpus := map[string][]int{}
	for _, one := range list {
		index, text := about(one)
		if gpus[text] == nil {
			texts = append(texts, text)
		}
		gpus[text] = append(gpus[text], index)
	}
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "%s: %s", gpuNames(gpus[text]), text)
	}
	return b.String()
}

// gpuNames returns "GPU 0", "GPU 0, 2" or "GPU 0-7".
func gpuNames(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		switch {
		case k > i+1:
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[k]))
		case k == i+1:
			parts = append(parts, fmt.Sprint(list[i]), fmt.Sprint(list[k]))
		default:
			parts = append(parts, fmt.Sprint(list[i]))
		}
		i = k + 1
	}
	return "GPU " + strings.Join(parts, ", ")
}
