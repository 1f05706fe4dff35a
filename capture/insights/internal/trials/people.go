package trials

import (
	"slices"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// peopleQuery is an ExperimentPeopleQuery: the people who were exposed to an experiment, whatever
// their variants, to store them as a cohort (experiments.md §3.7). It has the members of an
// ExperimentExposureQuery. PostHog does not have this kind.
type peopleQuery struct{ *exposuresQuery }

// maxPeople is the maximum number of people whose distinct ids are returned.
const maxPeople = 100_000

// exposedPeople is the result of a peopleQuery.
type exposedPeople struct {
	People int64 `json:"people"`
	// WithoutProfile is the number of people who are not stored as persons.
	WithoutProfile int64 `json:"without_profile"`
	// IDs are the distinct ids of all others, sorted; none if there are more than maxPeople.
	IDs []string `json:"distinct_ids"`
}

// parsePeople parses an ExperimentPeopleQuery.
func parsePeople(n document.Node, p *port.Project) scan.Plan {
	q := &peopleQuery{parseExposures(n, p).(*exposuresQuery)}
	if q.groupType() != scan.AnyPeople {
		n.Get("feature_flag").Fail(document.InvalidInput, "The experiment is about groups, and not about people.")
	}
	return q
}

// Run finds the people of all exposures, and reads their profiles.
func (q *peopleQuery) Run(r *scan.Run) (*port.Result, error) {
	out := exposedPeople{IDs: []string{}}
	if !q.Start.IsZero() {
		f := newExperimentRun(r, q.Trial, q.exposure, nil)
		if err := f.readExposures(); err != nil {
			return nil, err
		}
		if err := out.read(f); err != nil {
			return nil, err
		}
	}
	return &port.Result{Extra: map[string]any{"kind": "ExperimentPeopleQuery", "evidence": wire.MustEncode(out)}}, nil
}

// read counts the exposed entities, and reads their distinct ids.
func (out *exposedPeople) read(f *experimentRun) error {
	var people []capture.UUID
	for actor := range f.entities {
		if !f.entities[actor].active {
			continue
		}
		if out.People++; out.People <= maxPeople {
			people = append(people, f.PersonID(uint32(actor)))
		}
	}
	if out.People == 0 || out.People > maxPeople { // Profiles without people would read all persons
		return nil
	}
	out.WithoutProfile = out.People
	err := f.Reader.Profiles(f.Context, people, func(p *capture.StoredPerson) error {
		out.WithoutProfile--
		for _, id := range p.DistinctIDs {
			if err := f.Reserve(int64(len(id)) + 16); err != nil {
				return err
			}
		}
		out.IDs = append(out.IDs, p.DistinctIDs...)
		return nil
	})
	slices.Sort(out.IDs)
	return err
}
