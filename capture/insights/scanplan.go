package insights

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// plan is a parsed query of a particular kind. run must not modify the plan in a way that affects
// other runs.
type plan interface {
	Run(r *run) (*port.Result, error)
}

// kind is a kind of queries: its name and the parser of its queries.
type kind struct {
	Name  string
	Parse func(n document.Node, p *port.Project) plan
}
