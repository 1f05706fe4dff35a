package cohorts

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// Limits of previews (console.md N17, N25).
const (
	maxPreviewed   = 20              // persons in a preview
	maxLines       = 1000            // lines of a Match request
	previewTimeout = 5 * time.Second // for reading persons
)

// previewFields and matchFields are the request bodies of Preview and Match.
var (
	previewFields = management.Fields{{Name: "filters", Type: management.Object, Required: true, Help: "filters of a cohort that is not saved"}}
	matchFields   = management.Fields{{Name: "lines", Type: management.TextList, Required: true, Blank: true, Help: "distinct ids, email addresses and UUIDs of persons, at most 1,000"}}
)

// cohortPreview is the result of evaluating an unsaved cohort.
type cohortPreview struct {
	// Count is the number of persons in the cohort, an estimate unless Exact is true.
	Count int
	// Exact is true if all persons were evaluated and no filter depends on events. Otherwise
	// Count is extrapolated from the persons that were, and filters on events matched no person.
	Exact bool
	UUIDs []string // at most 20, newest first
}

// Preview evaluates the filters of an unsaved dynamic cohort. It reads at most the newest 100,000
// persons, for at most 5 seconds.
func (s Service) Preview(ctx context.Context, scope *management.Scope, b management.Body) (*cohortPreview, error) {
	v, err := previewFields.Create(b)
	if err != nil {
		return nil, err
	}
	draft := &storedcohorts.Cohort{}
	draft.Assign(v)
	behavioral := false
	err = s.Env.Store.Read(ctx, func(tx storeTx) error {
		// The draft must be a valid cohort: apply the checks of a new one.
		usage := &storedcohorts.Usage{Tx: tx, Scope: scope}
		if err := draft.Check(usage, &storedcohorts.Cohort{}, v); err != nil {
			return err
		}
		// Filters on events may also be in a cohort that the draft references.
		own := draft.Parts()
		behavioral = own.Behavioral
		for id := range usage.Graph.Reach(own.Cohorts...) {
			behavioral = behavioral || usage.Graph[id].Behavioral
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	const draftID = math.MaxInt32 // larger than any id in a store
	draft.ID = draftID
	m, _, err := s.newDraftMatcher(ctx, scope, draftID, draft)
	if err != nil {
		return nil, err
	}
	out, err := s.preview(ctx, scope, m)
	if behavioral && out != nil { // filters on events are not evaluated
		out.Exact = false
	}
	return out, err
}

// preview counts the persons that match. If it has to stop early, it estimates the total from the
// share of matching persons.
func (s Service) preview(ctx context.Context, scope *management.Scope, m *matcher) (*cohortPreview, error) {
	out := &cohortPreview{Exact: true}
	if s.People == nil {
		return out, nil
	}
	scanned, failed := 0, error(nil)
	deadline := time.Now().Add(previewTimeout)
	err := s.People.Persons(ctx, scope.Project.ID, func(p *management.Person) bool {
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
		// Reading the clock for each person would be slow, so check the deadline every 1,024
		// persons.
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
	// Persons may have been added or deleted since they were scanned: the total is at least
	// scanned.
	total, err := s.People.CountPersons(ctx, scope.Project.ID)
	out.Count, out.Exact = definitions.Extrapolate(scanned, out.Count, max(total, scanned))
	return out, err
}

// MatchResult is the result of resolving a list of lines to persons.
type MatchResult struct {
	Persons []string `json:"persons"` // UUIDs without duplicates
	Unknown []string `json:"unknown"` // lines without a person
}

// Match finds the persons for a list of lines, each of which is a distinct id, the UUID of a
// person or an e-mail address. At most 1,000 lines are accepted. E-mail addresses are searched
// among the newest 100,000 persons, for at most 5 seconds.
func (s Service) Match(ctx context.Context, scope *management.Scope, b management.Body) (*MatchResult, error) {
	v, err := matchFields.Create(b)
	if err != nil {
		return nil, err
	}
	if len(v.Texts("lines")) > maxLines {
		return nil, management.CodedFault(management.CodeMaxLength, "lines", "Ensure this field has no more than %d elements.", maxLines)
	}
	// Ignore empty lines and duplicates, as in text pasted from a spreadsheet.
	var lines []string
	for _, line := range v.Texts("lines") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	// Lines keep their order in the result, so the persons are collected by line first.
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

// matchLines adds the UUIDs of the persons of each line to found. An address may belong to
// several persons.
func (s Service) matchLines(ctx context.Context, scope *management.Scope, lines []string, found map[string][]string) error {
	// Distinct ids take precedence over UUIDs, and both over e-mail addresses.
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
	// All addresses are searched in a single pass over the persons.
	return s.People.Persons(ctx, scope.Project.ID, func(p *management.Person) bool {
		scanned++
		if email, ok := p.Properties["email"].(string); ok && addresses[email] {
			found[email] = append(found[email], p.UUID)
		}
		return scanned < maxPersons && (scanned%1024 != 0 || time.Now().Before(deadline))
	})
}
