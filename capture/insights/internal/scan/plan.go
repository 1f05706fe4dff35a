package scan

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Plan is a parsed query of a particular kind. run must not modify the plan in a way that affects
// other runs.
type Plan interface {
	Run(r *Run) (*port.Result, error)
}

// Kind is a kind of queries: its name and the parser of its queries.
type Kind struct {
	Name  string
	Parse func(n document.Node, p *port.Project) Plan
}
