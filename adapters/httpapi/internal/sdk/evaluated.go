package sdk

import (
	"strings"
	"sync"

	"github.com/bunting-flags/bunting/flags"
)

// maxEvaluationCounts is the maximum number of flags that are counted between two calls of
// TakeEvaluationCounts. Further flags are not counted.
const maxEvaluationCounts = 100_000

// evaluationCounter counts the evaluations of flags. It is safe for concurrent use.
type evaluationCounter struct {
	mu       sync.Mutex
	projects map[string]*evaluatedFlags // by token
	flags    int                        // number of flags of all projects
}

// evaluatedFlags counts the flags of one project. Evaluations usually have the same order, so the
// position of the next flag is guessed, and looked up only if the guess is wrong.
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

// add counts the decisions of one request.
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
		e.projects[strings.Clone(token)] = p // the token may share memory with the request
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

// count adds one evaluation with the value of d.
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

// evaluationCount is the number of evaluations of a flag that resulted in a value.
type evaluationCount struct {
	Token, Flag string
	Value       string // true, false or a variant
	N           int64
}

// Take returns the counts since its last call, in no particular order, and resets them.
func (e *evaluationCounter) Take() (out []evaluationCount) {
	e.mu.Lock()
	projects := e.projects
	e.projects, e.flags = nil, 0
	e.mu.Unlock()
	for token, p := range projects {
		for i := range p.list {
			f := &p.list[i]
			for _, v := range append(f.variants, evaluatedVariant{"true", f.on}, evaluatedVariant{"false", f.off}) {
				if v.n > 0 {
					out = append(out, evaluationCount{token, f.key, v.key, v.n})
				}
			}
		}
	}
	return out
}
