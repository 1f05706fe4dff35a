package cohorts

import (
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// resource returns the generic operations on the project's cohorts. ids are added to the static
// cohort that a write creates or changes. If ofFile is true they are from a CSV file, and a write
// to a dynamic cohort returns an error.
func (s Service) resource(ids []string, fromFile bool) resource.Resource[storeTx, storedcohorts.Cohort, Cohort] {
	return resource.NewResource(&s.Env, resource.Spec[storeTx, storedcohorts.Cohort, Cohort]{
		ActivityScope: storedcohorts.ActivityScope, Fields: storedcohorts.Fields, Object: (*storedcohorts.Cohort).AccessObject,
		Body: func(b *management.Body) error { return storedflags.CheckBody(b, flags.CohortPart) },
		Header: func(_ *management.Scope, c *storedcohorts.Cohort) resource.RecordHeader {
			return resource.RecordHeader{ID: c.ItemID(), Title: c.Title()}
		},
		Load: func(v *view, id string, _ *management.Body) (*storedcohorts.Cohort, error) {
			return storedcohorts.Load(v.Tx, v.Scope, id)
		},
		AuthorizeChange: func(_ *view, c *storedcohorts.Cohort) error {
			if c.Origin != "" {
				return management.Clash("The cohort %d is defined in the file %s and can only be changed there.", c.ID, c.Origin)
			}
			return nil
		},
		New: func(v *view) (*storedcohorts.Cohort, error) {
			return &storedcohorts.Cohort{Meta: storedcohorts.Meta{CreatedAt: management.NewStamp(s.Env.Now()), CreatedBy: v.User.ID}}, nil
		},
		Rules: func(e *resource.Edit[storeTx, storedcohorts.Cohort]) error {
			e.After.Assign(e.Values)
			return e.After.Check(&storedcohorts.Usage{Tx: e.Tx, Scope: e.Scope}, &e.Before, e.Values)
		},
		Put: func(v *view, c *storedcohorts.Cohort) error {
			return c.Put(v.Tx, v.Scope)
		},
		AfterSave: func(e *resource.Edit[storeTx, storedcohorts.Cohort]) error {
			switch {
			// A static cohort is counted even without new members, since it may just have become
			// static.
			case e.After.Static:
				return s.addMembers(e.Tx, e.Scope, e.After, ids)
			case fromFile:
				return errNotStaticFile()
			}
			return nil
		},
		Show: s.show,
	})
}

// show returns a cohort as the API returns it, with its author, its experiments and its count.
func (s Service) show(v *view, c *storedcohorts.Cohort) (*Cohort, error) {
	creator, err := v.Author(c.CreatedBy)
	if err != nil {
		return nil, err
	}
	experiments, err := s.Experiments(v.Tx, v.Scope, c.ID)
	if err != nil {
		return nil, err
	}
	out := ViewOf(c)
	if out.Count, err = s.memberCount(v, c); err != nil {
		return nil, err
	}
	out.Access = v.AccessTo(c.AccessObject())
	out.CreatedBy, out.Experiments = creator, experiments
	return out, nil
}

// memberCount returns the number of persons of a cohort. Static cohorts up to MaxLiveCount are
// counted now, because merging and erasing persons changes their number without a write to the
// cohort. For all other cohorts it returns the stored count.
func (s Service) memberCount(v *view, c *storedcohorts.Cohort) (*int, error) {
	if !c.Static || c.Deleted || c.Count == nil || *c.Count > storedcohorts.MaxLiveCount {
		return c.Count, nil
	}
	n, err := v.Tx.CountMembers(v.Project.ID, c.ID)
	return &n, err
}

// errNotStaticFile returns the error for a CSV file that is sent to a dynamic cohort.
func errNotStaticFile() error {
	return management.Fault("csv", "Only static cohorts can be filled from a file.")
}
