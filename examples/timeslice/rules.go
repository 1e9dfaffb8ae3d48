package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/timeslice/governor"
)

// rule is a governor with its figure.
type rule struct {
	law    string
	figure int // thousandths
}

// The laws.
const (
	lawNone     = "none"
	lawFeedback = "feedback"
	lawQuota    = "quota"
	lawAIMD     = "aimd"
	lawCoRun    = "corun"
)

var laws = [...]string{lawNone, lawFeedback, lawQuota, lawAIMD, lawCoRun}

// defaultRules has some figures of each, so that a picture shows a line.
const defaultRules = "none,feedback:250,feedback:500,feedback:650,quota:250,quota:500,quota:650," +
	"aimd:30,aimd:200,aimd:400,corun:0,corun:100,corun:200"

func (r rule) String() string {
	if r.law == lawNone {
		return r.law
	}
	return r.law + ":" + strconv.Itoa(r.figure)
}

func parseRules(list string) ([]rule, error) {
	var rules []rule
	for item := range strings.SplitSeq(list, ",") {
		r, err := parseRule(item)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", item, err)
		}
		if slices.Contains(rules, r) {
			return nil, fmt.Errorf("%q: %s stands there twice", item, r)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(text string) (rule, error) {
	law, figure, given := strings.Cut(text, ":")
	r := rule{law: law}
	low, high := 1, 1000
	switch law {
	case lawNone:
		if given {
			return r, fmt.Errorf("%s takes no figure", law)
		}
	case lawFeedback, lawQuota:
		r.figure = 500
	case lawAIMD:
		r.figure, high = 30, 900
	case lawCoRun:
		low = 0
	default:
		return r, fmt.Errorf("is none of %s", strings.Join(laws[:], ", "))
	}
	if given {
		n, err := strconv.Atoi(figure)
		if err != nil || n < low || n > high {
			return r, fmt.Errorf("%q is no whole number from %d to %d", figure, low, high)
		}
		r.figure = n
	}
	_, err := r.governor()
	return r, err
}

// governor returns a new one; nil grants all.
func (r rule) governor() (governor.Governor, error) {
	all := governor.Limit{Share: 1000}
	switch r.law {
	case lawFeedback:
		return governor.NewFeedback(governor.FeedbackConfig{Limit: governor.Limit{Share: r.figure}})
	case lawQuota:
		return governor.NewQuota(governor.QuotaConfig{Limit: governor.Limit{Share: r.figure}})
	case lawAIMD:
		return governor.NewAIMD(governor.AIMDConfig{Limit: all, Target: r.figure})
	case lawCoRun:
		return governor.NewCoRun(governor.CoRunConfig{Limit: all, Beside: r.figure})
	default:
		return nil, nil //nolint:nilnil // no governor is one that grants all
	}
}
