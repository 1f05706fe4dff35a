package filesource

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// maxLogged is the maximum number of faults that are logged for one change.
const maxLogged = 20

// snapshot is the complete state in use. It is immutable and replaced by changes.
type snapshot struct {
	projects map[string]*project // by API key
	order    []flags.Project
	grants   map[string]*grant // by personal or secret key
}

// project is a project of a file with the faults in its definitions.
type project struct {
	flags.FileProject
	faults []Fault
}

// grant is the access that a key grants.
type grant struct {
	secret   bool
	scopes   []string
	projects []string
}

// activate starts to use the parsed states that do not conflict with the rest: all together if
// possible, so that a project may move from one file to another, or else file by file until no
// further one fits.
func (s *Source) activate() {
	waiting := slices.Collect(func(yield func(*file) bool) {
		for _, f := range s.files {
			if f.next != nil && !yield(f) {
				return
			}
		}
	})
	if len(waiting) == 0 {
		return
	}
	accepted := waiting
	if err := checkConflicts(s.files); err != nil {
		accepted = s.activateSingly(waiting)
	} else {
		for _, f := range waiting {
			f.accept(s.config.Now())
		}
	}
	if len(accepted) > 0 {
		s.publish(accepted)
	}
}

// activateSingly accepts waiting files one by one, and returns the accepted ones.
func (s *Source) activateSingly(waiting []*file) (accepted []*file) {
	pending := map[*file]*flags.File{}
	for _, f := range waiting {
		pending[f], f.next = f.next, nil
	}
	for progress := true; progress; {
		progress = false
		for _, f := range waiting {
			if pending[f] == nil {
				continue
			}
			f.next = pending[f]
			if err := checkConflicts(s.files); err != nil {
				f.next = nil
				f.reject(s, err)
				continue
			}
			f.accept(s.config.Now())
			delete(pending, f)
			accepted = append(accepted, f)
			progress = true
		}
	}
	for f, next := range pending {
		f.next = next // retried with every further change
	}
	return accepted
}

// publish replaces the snapshot by the good states.
func (s *Source) publish(accepted []*file) {
	old := s.current.Load()
	next := &snapshot{projects: map[string]*project{}, grants: map[string]*grant{}}
	for _, f := range s.files {
		for i := range f.good.Projects {
			p := s.newProject(old, &f.good.Projects[i])
			next.add(p)
			for _, k := range f.good.PersonalKeys {
				next.grant(k.Key, false, k.Scopes, p.APIKey)
			}
		}
	}
	for key := range next.projects {
		s.addMembers(next.projects[key])
	}
	s.current.Store(next)
	for _, f := range accepted {
		s.report(next, f)
	}
}

// newProject returns a project with its revision: the previous one if its definitions are
// unchanged, else a larger one.
func (s *Source) newProject(old *snapshot, p *flags.FileProject) *project {
	var previous *project
	if old != nil {
		previous = old.projects[p.APIKey]
	}
	if previous != nil && reflect.DeepEqual(previous.Definitions, p.Definitions) {
		unchanged := *previous
		unchanged.FileProject = *p
		unchanged.Revision = previous.Revision
		return &unchanged
	}
	out := &project{FileProject: *p}
	out.Revision = s.revision + 1
	if previous != nil {
		out.Revision = previous.Revision + 1
	}
	s.revision = max(s.revision, out.Revision)
	for _, f := range flags.Compile(p.Definitions).Faults() {
		out.faults = append(out.faults, Fault{p.APIKey, f})
	}
	return out
}

// add adds a project and its keys.
func (n *snapshot) add(p *project) {
	n.projects[p.APIKey] = p
	n.order = append(n.order, p.Project)
	for _, k := range p.PersonalKeys {
		n.grant(k.Key, false, k.Scopes, p.APIKey)
	}
	for _, k := range p.SecretKeys {
		n.grant(k, true, nil, p.APIKey)
	}
}

// grant adds a project to the access of a key.
func (n *snapshot) grant(key string, secret bool, scopes []string, project string) {
	g := n.grants[key]
	if g == nil {
		g = &grant{secret: secret, scopes: scopes}
		n.grants[key] = g
	}
	if !slices.Contains(g.projects, project) {
		g.projects = append(g.projects, project)
	}
}

// addMembers adds the members of static cohorts to the memory, as persons with an unknown creation
// time.
func (s *Source) addMembers(p *project) {
	for _, c := range p.Definitions.Cohorts {
		if !c.Static || c.Deleted {
			continue
		}
		for _, id := range c.Members {
			member := person{p.ID, id}
			if !s.people[member] {
				s.people[member] = true
				s.memory.AddPerson(p.ID, time.Time{}, nil, nil, id)
			}
		}
	}
}

// report logs a file that is now in use, with its faults.
func (s *Source) report(n *snapshot, f *file) {
	log := s.config.Logger
	faults, count := []Fault(nil), 0
	for i := range f.good.Projects {
		p := n.projects[f.good.Projects[i].APIKey]
		faults = append(faults, p.faults...)
		count += len(p.Definitions.Flags)
	}
	level := slog.LevelInfo
	if f.loads == 1 { // the start logs its own message
		level = slog.LevelDebug
	}
	log.Log(context.Background(), level, "definitions file loaded", "file", f.path, "projects", len(f.good.Projects), "flags", count, "faults", len(faults))
	for i, fault := range faults {
		if i == maxLogged {
			log.Warn("there are more faults in the definitions, see bunting check", "file", f.path, "more", len(faults)-i)
			break
		}
		log.Warn("fault in the definitions", "file", f.path, "project", fault.Project, "fault", fault.Error())
	}
}

// checkConflicts returns an error if the newest states of the files contradict each other.
func checkConflicts(files []*file) error {
	type place struct{ path, key string }
	byKey, byID := map[string]place{}, map[int64]place{}
	kinds := map[string]*grant{} // by personal or secret key
	for _, f := range files {
		if err := checkKeys(f.path, "organization", f.newest().PersonalKeys, nil, kinds); err != nil {
			return err
		}
		for i := range f.newest().Projects {
			p := &f.newest().Projects[i]
			if other, exists := byKey[p.APIKey]; exists {
				return fmt.Errorf("%s and %s both have the project with the api_key %q: a project may be in one file only", other.path, f.path, p.APIKey)
			}
			if other, exists := byID[p.ID]; exists {
				return fmt.Errorf("%s and %s both have a project with the id %d (api_key %q and %q): give one of them another id", other.path, f.path, p.ID, other.key, p.APIKey)
			}
			byKey[p.APIKey], byID[p.ID] = place{f.path, p.APIKey}, place{f.path, p.APIKey}
			if err := checkKeys(f.path, fmt.Sprintf("project %q", p.APIKey), p.PersonalKeys, p.SecretKeys, kinds); err != nil {
				return err
			}
		}
	}
	for key, p := range byKey {
		if kinds[key] != nil {
			return fmt.Errorf("%s: the api_key %q, which is public, is also a personal or secret key", p.path, key)
		}
	}
	return nil
}

// checkKeys returns an error if a key is in several places with different meanings, because it
// would then grant more than one of them allows.
func checkKeys(path, owner string, personal []flags.PersonalKey, secrets []string, kinds map[string]*grant) error {
	check := func(list string, i int, key string, g grant) error {
		position := fmt.Sprintf("%s: %s[%d] of the %s", path, list, i, owner)
		switch other := kinds[key]; {
		case key == "":
			return fmt.Errorf("%s is empty", position)
		case other == nil:
			kinds[key] = &g
		case other.secret != g.secret:
			return fmt.Errorf("%s is a personal key in one place and a secret key in another", position)
		case !slices.Equal(other.scopes, g.scopes):
			return fmt.Errorf("%s is in several places with different scopes", position)
		}
		return nil
	}
	for i, k := range personal {
		scopes := slices.Clone(k.Scopes)
		slices.Sort(scopes)
		if err := check("personal_api_keys", i, k.Key, grant{scopes: scopes}); err != nil {
			return err
		}
	}
	for i, k := range secrets {
		if err := check("secret_api_keys", i, k, grant{secret: true}); err != nil {
			return err
		}
	}
	return nil
}
