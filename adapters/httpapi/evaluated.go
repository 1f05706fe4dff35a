package httpapi

import (
	"strings"
	"sync"

	"github.com/bunting-flags/bunting/flags"
)

// EvaluationCount is how often a flag was answered with a value.
type EvaluationCount struct {
	// Token is the public key of the project.
	Token, Flag string
	Value       string // true, false or a variant
	N           int64
}

// maxEvaluationCounts bounds the flags whose answers are gathered between two calls of
// TakeEvaluationCounts; those of others are not counted.
const maxEvaluationCounts = 100_000

// evaluationCounter gathers how often flags are answered.
type evaluationCounter struct {
	mu       sync.Mutex
	projects map[string]*evaluatedFlags // by token
	flags    int                        // of all projects
}

// evaluatedFlags are those of a project. Answers come in one order: where the next flag
// stands is guessed, and looked up where that is wrong.
type evaluatedFlags struct {
	list  []evaluatedFlag
	byKey map[string]int
}

type evaluatedFlag struct {
	key      string
	off, on  int64
	variants []evaluatedVariant
}

type evaluatedVariant struct {
	key string
	n   int64
}

// add counts the answers of a request to flags.
func (e *evaluationCounter) add(token string, list []flags.Decision) {
	if len(list) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.projects[token]
	if p == nil {
		if e.projects == nil {
			e.projects = map[string]*evaluatedFlags{}
		}
		p = &evaluatedFlags{byKey: map[string]int{}}
		e.projects[strings.Clone(token)] = p // it is a part of a request's memory
	}
	next := 0
	for i := range list {
		d := &list[i]
		if next >= len(p.list) || p.list[next].key != d.Key {
			index, exists := p.byKey[d.Key]
			if !exists {
				if e.flags == maxEvaluationCounts {
					continue
				}
				e.flags++
				index = len(p.list)
				p.byKey[d.Key], p.list = index, append(p.list, evaluatedFlag{key: d.Key})
			}
			next = index
		}
		if !d.Failed() {
			p.list[next].count(d)
		}
		next++
	}
}

func (f *evaluatedFlag) count(d *flags.Decision) {
	switch {
	case d.Variant != "":
		for i := range f.variants {
			if f.variants[i].key == d.Variant {
				f.variants[i].n++
				return
			}
		}
		f.variants = append(f.variants, evaluatedVariant{d.Variant, 1})
	case d.Enabled:
		f.on++
	default:
		f.off++
	}
}

// TakeEvaluationCounts returns how often flags were answered since the last call, in no order.
func (h *Handler) TakeEvaluationCounts() (out []EvaluationCount) {
	if !h.isReady() {
		return nil
	}
	e := &h.server.evaluations
	e.mu.Lock()
	projects := e.projects
	e.projects, e.flags = nil, 0
	e.mu.Unlock()
	for token, p := range projects {
		for i := range p.list {
			f := &p.list[i]
			for _, v := range append(f.variants, evaluatedVariant{"true", f.on}, evaluatedVariant{"false", f.off}) {
				if v.n > 0 {
					out = append(out, EvaluationCount{token, f.key, v.key, v.n})
				}
			}
		}
	}
	return out
}
