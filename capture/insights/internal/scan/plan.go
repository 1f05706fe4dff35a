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

// ActorsPlan is a Plan whose numbers have actors behind them.
type ActorsPlan interface {
	// ActorFinder parses the members of n that select one of the numbers.
	ActorFinder(n document.Node) ActorFinder
	// Options returns the values of each member by which actors are selected.
	Options(r *Run) (map[string]any, error)
}

// Kind is a kind of queries: its name and the parser of its queries.
type Kind struct {
	Name  string
	Parse func(n document.Node, p *port.Project) Plan
}
