package errortracking

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// The names and the limits of the follower.
const (
	// issueFollower is the name of the position up to which exceptions have been read.
	issueFollower = "issues"
	// followEvents is the number of exceptions that one transaction reads.
	followEvents = 500
	// followIDs is the number of events in the log after which further ones are read at once, even if there was
	// no exception among them.
	followIDs = 1 << 18
	// maxRuleProps is the greatest size of an event's properties, in bytes, that are stored with a
	// rule that failed.
	maxRuleProps = 64 << 10
	// exceptionEvent is the name of events that are exceptions.
	exceptionEvent = "$exception"
)

// Follow reads the next exceptions of the log, creates or updates their issues, and assigns them
// (§4.2). It stores the position of the last exception in the same transaction, so each exception
// counts exactly once. It reports whether there may be many more exceptions: while it follows the newest
// events, it should not be called after each commit of them, because its transaction delays the next one.
//
// Several servers may call it at the same time; each part of the log is read by one of them. It
// does nothing if Config.Events is nil.
func (s Service) Follow(ctx context.Context) (more bool, err error) {
	if s.Events == nil {
		return false, nil
	}
	after, err := management.Read(ctx, &s.Env, func(tx management.Tx) (int64, error) { return records.FollowerPosition(tx, issueFollower) })
	if err != nil {
		return false, err
	}
	events, last, err := s.Events.EventsAfter(ctx, exceptionEvent, after, followEvents)
	if err != nil || last <= after {
		return false, err
	}
	more = len(events) >= followEvents || last-after >= followIDs
	err = s.Env.Store.Write(ctx, func(tx management.Tx) error {
		current, err := records.FollowerPosition(tx, issueFollower)
		if err != nil || current != after { // another server has read these exceptions
			more = true
			return err
		}
		f := &issueRun{Service: s, tx: tx, projects: map[int64]*projectRun{}, issues: map[string]*issueState{}}
		for i := range events {
			if err := f.add(&events[i]); err != nil {
				return err
			}
		}
		if err := f.save(); err != nil {
			return err
		}
		return records.PutFollowerPosition(tx, issueFollower, last)
	})
	return more && err == nil, err
}

// issueRun is one transaction of Follow, with caches for it.
type issueRun struct {
	Service
	tx       management.Tx
	projects map[int64]*projectRun
	issues   map[string]*issueState // by project and fingerprint
	// order has the issues in the order of their first exception.
	order []*issueState
}

// issueState is an issue that the transaction has changed, with its project.
type issueState struct {
	*storedIssue
	project int64
}

// projectRun is the cache for a project. The rules are loaded when the first issue must be
// assigned, in their order, including disabled ones.
type projectRun struct {
	deleted  bool
	settings flags.FilterSettings
	loaded   bool
	rules    []*storedRule
	filters  []*ruleFilters // compiled rules; nil if a rule is not compiled yet
}

// add counts an exception in its issue. It applies the rules if the issue is unassigned, and is new
// or was reopened. Exceptions of deleted projects are ignored.
func (f *issueRun) add(e *LoggedEvent) error {
	p := f.projects[e.Project]
	if p == nil {
		record, err := f.tx.Project(e.Project)
		if err != nil {
			return err
		}
		if p = (&projectRun{deleted: record == nil}); !p.deleted {
			p.settings = record.FilterSettings()
		}
		f.projects[e.Project] = p
	}
	if p.deleted {
		return nil
	}
	x := readException(e.Properties)
	i, isNew, err := f.issue(e, x)
	if err != nil {
		return err
	}
	seenAt := management.NewStamp(e.Timestamp)
	i.Count++
	if seenAt.Before(i.FirstSeen.Time) {
		i.FirstSeen = seenAt
	}
	if seenAt.After(i.LastSeen.Time) {
		i.LastSeen = seenAt
	}
	// An exception from before the change of the status does not reopen the issue.
	reopened := (i.Status == issueResolved || i.Status == issueArchived) && seenAt.After(i.Changed.Time)
	if reopened {
		i.Status, i.Changed = issueActive, seenAt
	}
	if (isNew || reopened) && i.Assignee == nil {
		return f.assign(p, i, e)
	}
	return nil
}

// issue returns the issue of an exception. It creates a missing issue.
func (f *issueRun) issue(e *LoggedEvent, x *exception) (found *issueState, isNew bool, err error) {
	fingerprint := x.fingerprint()
	key := issueUnique(e.Project, fingerprint)
	if found = f.issues[key]; found != nil {
		return found, false, nil
	}
	stored, err := management.Found[storedIssue](f.tx.Find(kindIssue, key))
	if err != nil {
		return nil, false, err
	}
	if isNew = stored == nil; isNew {
		name, description := x.title()
		at := management.NewStamp(e.Timestamp)
		stored = &storedIssue{Issue: Issue{
			ID: f.Env.NewID(), Fingerprint: fingerprint, Status: issueActive, FirstSeen: at, LastSeen: at,
			Name: firstCharacters(name, maxIssueName), Description: firstCharacters(description, maxIssueDescription),
		}, Changed: at}
	}
	found = &issueState{stored, e.Project}
	f.issues[key] = found
	f.order = append(f.order, found)
	return found, isNew, nil
}

// assign assigns an issue by the first rule that matches. A rule that cannot be evaluated is
// disabled, and the next one is tried.
func (f *issueRun) assign(p *projectRun, i *issueState, e *LoggedEvent) error {
	if !p.loaded {
		p.loaded = true
		list, err := management.ListRecords[storedRule](f.tx, management.Query{Kind: kindRule, Parent: management.ProjectParent(e.Project), Limit: maxRules})
		if err != nil {
			return err
		}
		for n := range list.Results {
			p.rules = append(p.rules, &list.Results[n])
		}
		p.filters = make([]*ruleFilters, len(p.rules))
	}
	facts := &ruleFacts{issue: &i.Issue, now: f.Env.Now()}
	for n, r := range p.rules {
		if r.Disabled != nil {
			continue
		}
		// The properties are parsed only if there is a rule that needs them.
		if facts.event == nil {
			facts.event, facts.person = loggedObject(e.Properties), loggedObject(e.PersonProperties)
		}
		matches, err := p.match(n, facts)
		if err != nil {
			if err := f.disable(e, i, r, err); err != nil {
				return err
			}
			continue
		}
		if matches {
			i.Assignee = r.Assignee
			return nil
		}
	}
	return nil
}

// match reports whether the rule at index n matches. It compiles the rule for its first use.
func (p *projectRun) match(n int, facts *ruleFacts) (bool, error) {
	if p.filters[n] == nil {
		filters, err := compileRule(p.rules[n].Filters, p.settings)
		if err != nil {
			return false, err
		}
		p.filters[n] = filters
	}
	return p.filters[n].match(facts), nil
}

// disable disables a rule, and stores the reason, the issue and the properties of the event with
// it.
func (f *issueRun) disable(e *LoggedEvent, i *issueState, r *storedRule, reason error) error {
	message := reason.Error()
	var apiErr *management.Error
	if errors.As(reason, &apiErr) {
		message = apiErr.Message
	}
	failure := &ruleFailure{
		Message: message,
		Issue:   storage.Encode(map[string]string{"status": i.Status, "name": i.Name, "description": i.Description}),
		Props:   json.RawMessage("{}"),
	}
	if len(e.Properties) <= maxRuleProps && json.Valid([]byte(e.Properties)) {
		failure.Props = json.RawMessage(e.Properties)
	}
	return f.rules.Modify(inProject(f.tx, e.Project), r, func() { r.Disabled = failure })
}

// save stores the issues that have changed.
func (f *issueRun) save() error {
	for _, i := range f.order {
		if err := f.Service.issues.Put(inProject(f.tx, i.project), i.storedIssue); err != nil {
			return err
		}
	}
	return nil
}

// EventLog reads events in the order in which they were recorded. Its errors are faults of the
// store.
type EventLog interface {
	// EventsAfter returns events with a name, of all projects, at positions above after, in
	// ascending order of positions. It returns at most limit events, and fewer if they are large.
	// last is the position up to which it has searched, at least after: all events up to it are
	// returned, and none can be recorded at or below it later.
	EventsAfter(ctx context.Context, name string, after int64, limit int) (events []LoggedEvent, last int64, err error)
}

// LoggedEvent is a recorded event.
type LoggedEvent struct {
	Position  int64 // in the log
	Project   int64
	Timestamp time.Time
	// Properties is a JSON object, and PersonProperties that of the person after the event.
	Properties, PersonProperties string
}

// loggedObject parses a JSON object. It returns nil if text is not an object.
func loggedObject(text string) (out map[string]json.RawMessage) {
	_ = json.Unmarshal([]byte(text), &out)
	return out
}
