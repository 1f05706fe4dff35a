package featureflags

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Bounds of looking before a cohort is made (console.md N17, N25).
const (
	maxPreviewed   = 20
	maxLines       = 1000
	previewTimeout = 5 * time.Second
)

// CohortPreviewFields and CohortMatchFields are the bodies of the calls that say who
// would be in a cohort.
var (
	CohortPreviewFields = management.Fields{{Name: "filters", Type: management.Object, Required: true, Help: "those of a cohort that is not saved"}}
	CohortMatchFields   = management.Fields{{Name: "lines", Type: management.TextList, Required: true, Blank: true, Help: "distinct ids, e-mail addresses and UUIDs of persons, at most 1,000"}}
)

// cohortPreview is who would be in a cohort.
type cohortPreview struct {
	Count int
	// Exact: all persons were looked at, else Count is concluded from those that were; and
	// no filter is about what they have done, which nobody meets here.
	Exact bool
	UUIDs []string // the newest 20
}

// Preview says who would be in a cohort by rule that is not saved. It looks at the newest
// 100,000 persons, for at most 5 seconds.
func (s Cohorts) Preview(ctx context.Context, scope *management.Scope, b management.Body) (*cohortPreview, error) {
	v, err := CohortPreviewFields.Create(b)
	if err != nil {
		return nil, err
	}
	draft := &storedCohort{}
	draft.assign(v)
	behavioral := false
	err = s.Env.Store.Read(ctx, func(tx Tx) error {
		usage := &cohortUsage{tx: tx, scope: scope}
		if err := draft.check(usage, &storedCohort{}, v); err != nil {
			return err
		}
		own := draft.parts()
		behavioral = own.behavioral
		for id := range usage.graph.reach(own.cohorts...) {
			behavioral = behavioral || usage.graph[id].behavioral
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	const draftID = math.MaxInt32 // no store gets as far
	draft.ID = draftID
	m, _, err := s.newDraftMatcher(ctx, scope, draftID, draft)
	if err != nil {
		return nil, err
	}
	out, err := s.preview(ctx, scope, m)
	if behavioral && out != nil { // what people have done is not looked at
		out.Exact = false
	}
	return out, err
}

func (s Cohorts) preview(ctx context.Context, scope *management.Scope, m *matcher) (*cohortPreview, error) {
	out := &cohortPreview{Exact: true}
	if s.People == nil {
		return out, nil
	}
	scanned, failed := 0, error(nil)
	deadline := time.Now().Add(previewTimeout)
	err := s.People.Persons(ctx, scope.Project.ID, func(p *Person) bool {
		isMember, err := m.match(p)
		if failed = err; err != nil {
			return false
		}
		if isMember {
			if out.Count++; len(out.UUIDs) < maxPreviewed {
				out.UUIDs = append(out.UUIDs, p.UUID)
			}
		}
		scanned++
		out.Exact = scanned < maxPersons && (scanned%1024 != 0 || time.Now().Before(deadline))
		return out.Exact
	})
	switch {
	case errors.Is(failed, errNotEvaluable):
		return nil, management.Fault("filters", "The cohort cannot be evaluated.")
	case err != nil || failed != nil:
		return nil, errors.Join(err, failed)
	case out.Exact:
		return out, nil
	}
	total, err := s.People.CountPersons(ctx, scope.Project.ID)
	estimated := estimate(scanned, out.Count, max(total, scanned))
	out.Count, out.Exact = estimated.Affected, estimated.Exact
	return out, err
}

// MatchResult are the persons of a list of lines.
type MatchResult struct {
	Persons []string `json:"persons"` // their UUIDs, each once
	Unknown []string `json:"unknown"` // lines that are nobody's
}

// Match finds the persons of lines, each of which is a distinct id, the UUID of a person
// or an e-mail address; addresses are looked for among the newest 100,000 persons.
func (s Cohorts) Match(ctx context.Context, scope *management.Scope, b management.Body) (*MatchResult, error) {
	v, err := CohortMatchFields.Create(b)
	if err != nil {
		return nil, err
	}
	if len(v.Texts("lines")) > maxLines {
		return nil, management.CodedFault(management.CodeMaxLength, "lines", "Ensure this field has no more than %d elements.", maxLines)
	}
	var lines []string
	for _, line := range v.Texts("lines") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	found := map[string][]string{} // UUIDs by line
	if s.People != nil {
		err = s.matchLines(ctx, scope, lines, found)
	}
	out := &MatchResult{Persons: []string{}, Unknown: []string{}}
	seen := map[string]bool{}
	for _, line := range lines {
		if len(found[line]) == 0 {
			out.Unknown = append(out.Unknown, line)
		}
		for _, uuid := range found[line] {
			if !seen[uuid] {
				seen[uuid] = true
				out.Persons = append(out.Persons, uuid)
			}
		}
	}
	return out, err
}

func (s Cohorts) matchLines(ctx context.Context, scope *management.Scope, lines []string, found map[string][]string) error {
	addresses := map[string]bool{}
	for _, line := range lines {
		p, err := s.People.PersonByDistinctID(ctx, scope.Project.ID, line)
		if err == nil && p == nil {
			p, err = s.People.PersonByUUID(ctx, scope.Project.ID, line)
		}
		switch {
		case err != nil:
			return err
		case p != nil:
			found[line] = []string{p.UUID}
		case strings.Contains(line, "@"):
			addresses[line] = true
		}
	}
	if len(addresses) == 0 {
		return nil
	}
	scanned, deadline := 0, time.Now().Add(previewTimeout)
	return s.People.Persons(ctx, scope.Project.ID, func(p *Person) bool {
		scanned++
		if email, ok := p.Properties["email"].(string); ok && addresses[email] {
			found[email] = append(found[email], p.UUID)
		}
		return scanned < maxPersons && (scanned%1024 != 0 || time.Now().Before(deadline))
	})
}
