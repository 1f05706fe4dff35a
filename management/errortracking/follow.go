package errortracking

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

const (
	// issueFollower is the name of the place up to which exceptions are issues.
	issueFollower = "issues"
	// followEvents is how many exceptions one transaction takes.
	followEvents = 500
	// maxRuleProps is how long the properties of an event may be, in bytes, to be
	// kept with a rule that has failed.
	maxRuleProps = 64 << 10
	// exceptionEvent is the event of an exception.
	exceptionEvent = "$exception"
)

// Follow makes issues of the next exceptions of the log and assigns them (§4.2),
// in one transaction with its place: whenever it is ended, it goes on there. It
// reports whether there may be more. Several servers may follow at once: only one
// of them takes a stretch of the log.
func (s Service) Follow(ctx context.Context) (more bool, err error) {
	if s.Events == nil {
		return false, nil
	}
	after, err := management.Read(ctx, &s.Env, func(tx management.Tx) (int64, error) { return management.FollowerPosition(tx, issueFollower) })
	if err != nil {
		return false, err
	}
	events, last, err := s.Events.EventsAfter(ctx, exceptionEvent, after, followEvents)
	if err != nil || last <= after {
		return false, err
	}
	err = s.Env.Store.Write(ctx, func(tx management.Tx) error {
		current, err := management.FollowerPosition(tx, issueFollower)
		if err != nil || current != after { // another server has been here
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
		return management.PutFollowerPosition(tx, issueFollower, last)
	})
	return true, err
}

// issueRun is one transaction of the follower.
type issueRun struct {
	Service
	tx       management.Tx
	projects map[int64]*projectRun
	issues   map[string]*issueState // by project and fingerprint
	order    []*issueState
}

// issueState is an issue that has changed.
type issueState struct {
	*storedIssue
	project int64
}

// projectRun is a project and its rules, in their order, as long as they are not
// disabled.
type projectRun struct {
	deleted  bool
	settings flags.FilterSettings
	loaded   bool
	rules    []*storedRule
	filters  []*ruleFilters // nil: not made ready yet
}

// add counts an exception, and assigns its issue when that is new or active
// again.
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
	reopened := (i.Status == issueResolved || i.Status == issueArchived) && seenAt.After(i.Changed.Time)
	if reopened {
		i.Status, i.Changed = issueActive, seenAt
	}
	if (isNew || reopened) && i.Assignee == nil {
		return f.assign(p, i, e)
	}
	return nil
}

// issue finds or makes the issue of an exception.
func (f *issueRun) issue(e *LoggedEvent, x *exception) (found *issueState, isNew bool, err error) {
	fingerprint := x.fingerprint()
	key := issueUnique(e.Project, fingerprint)
	if found = f.issues[key]; found != nil {
		return found, false, nil
	}
	r, err := f.tx.Find(kindIssue, key)
	if err != nil {
		return nil, false, err
	}
	stored, err := management.Decode[storedIssue](r)
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

// assign applies the first rule that matches. A rule that fails is disabled, and
// the next one is tried.
func (f *issueRun) assign(p *projectRun, i *issueState, e *LoggedEvent) error {
	if !p.loaded {
		p.loaded = true
		list, _, err := f.tx.List(management.Query{Kind: kindRule, Parent: management.ProjectParent(e.Project), Limit: maxRules})
		if err != nil {
			return err
		}
		for n := range list {
			r, err := management.Decode[storedRule](&list[n])
			if err != nil {
				return err
			}
			p.rules = append(p.rules, r)
		}
		p.filters = make([]*ruleFilters, len(p.rules))
	}
	facts := &ruleFacts{issue: &i.Issue, now: f.Env.Now()}
	for n, r := range p.rules {
		if r.Disabled != nil {
			continue
		}
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

// match tries a rule.
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

func (f *issueRun) disable(e *LoggedEvent, i *issueState, r *storedRule, reason error) error {
	message := reason.Error()
	var apiErr *management.Error
	if errors.As(reason, &apiErr) {
		message = apiErr.Message
	}
	failure := &ruleFailure{
		Message: message,
		Issue:   management.Encode(map[string]string{"status": i.Status, "name": i.Name, "description": i.Description}),
		Props:   json.RawMessage("{}"),
	}
	if len(e.Properties) <= maxRuleProps && json.Valid([]byte(e.Properties)) {
		failure.Props = json.RawMessage(e.Properties)
	}
	return f.rules.Modify(inProject(f.tx, e.Project), r, func() { r.Disabled = failure })
}

// save puts the issues that have changed.
func (f *issueRun) save() error {
	for _, i := range f.order {
		if err := f.Service.issues.Put(inProject(f.tx, i.project), i.storedIssue); err != nil {
			return err
		}
	}
	return nil
}
