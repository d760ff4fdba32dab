package bench

import (
	"fmt"
	"slices"
)

// targets are the quotients that hallmark is to reach.
var targets = []struct {
	way, of string
	most    float64
}{
	{serve, helm, 0.6}, {serve, native, 0.85}, {serve, floor, 1.25}, {again, floor, 1.05},
}

// report prints the medians of all ways, and how hallmark does against targets.
func report(title string, seconds map[string][]float64) {
	fmt.Printf("\n%s\n\n| way | seconds | x native | x helm template | x floor |\n|---|---|---|---|---|\n", title)
	for _, way := range ways {
		t := seconds[way.name]
		fmt.Printf("| %-28s | %.3f | %.2f | %.2f | %.2f |\n", way.name, median(t),
			quotient(t, seconds[native]), quotient(t, seconds[helm]), quotient(t, seconds[floor]))
	}
	fmt.Println()
	for _, t := range targets {
		judge(fmt.Sprintf("%s / %s", t.way, t.of), quotient(seconds[t.way], seconds[t.of]), "at most", t.most)
	}
	fmt.Printf("%-48s %.2f\n", floor+" / "+floorY, quotient(seconds[floor], seconds[floorY]))
}

// judge prints a measured value and its target.
func judge(what string, got float64, relation string, target float64) {
	verdict := "ok"
	if relation == "at most" && got > target || relation == "at least" && got < target {
		verdict = "MISSED"
	}
	fmt.Printf("%-48s %.2f, %s %.2f: %s\n", what, got, relation, target, verdict)
}

// quotient is the median quotient of paired values.
func quotient(a, b []float64) float64 {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	return median(q)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
