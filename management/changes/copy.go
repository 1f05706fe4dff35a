package changes

import (
	"bytes"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// CopySchedule returns a function that copies the scheduled changes of a flag that were not executed
// yet to a copy of the flag in another project. The copies get new ids, and the caller becomes their
// creator. The function may be called several times.
func CopySchedule(tx storeTx, from *management.Scope, f *storedflags.Flag) (paste func(tx storeTx, to *management.Scope, d *management.Definition) error, err error) {
	list, err := management.ListRecords[storedChange](tx, management.Query{Kind: kindScheduled, Parent: management.ProjectParent(from.Project.ID), Match: func(r *management.Record) bool {
		c, err := management.Decode[storedChange](r)
		return err == nil && c.RecordID == f.ItemID() && c.ExecutedAt.IsZero()
	}})
	if err != nil {
		return nil, err
	}
	schedule := list.Results
	// Forget the contents of the conditions: cohorts have other ids in the target project.
	for i := range schedule {
		schedule[i].forgetCondition(f)
	}
	return func(tx storeTx, to *management.Scope, d *management.Definition) error {
		for i := range schedule {
			c := schedule[i]
			c.Team, c.RecordID, c.Creator = to.Project.ID, strconv.FormatInt(d.ID, 10), to.User.ID
			var err error
			if c.ID, err = tx.Next(kindScheduled); err != nil {
				return err
			}
			if err := c.rememberCondition(d); err != nil {
				return err
			}
			if err := putScheduled(tx, &c); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// forgetCondition prepares a change for the copy to another project, where cohorts have other ids.
// It removes the contents of the condition if the index still refers to this condition.
func (c *storedChange) forgetCondition(f *storedflags.Flag) {
	// Apply the change to a copy without the stored condition: apply then stores the condition at
	// the index.
	trial := *c
	trial.Condition = nil
	if trial.apply(f.Clone()) == nil && bytes.Equal(trial.Condition, c.Condition) {
		c.Condition = nil
	}
}

// rememberCondition stores the contents of the condition to which a copied change refers in its new
// project.
func (c *storedChange) rememberCondition(d *management.Definition) error {
	f, err := storedflags.Decode(c.Team, d)
	if err == nil && c.Condition == nil {
		_ = c.apply(f) // an error is reported when the change is executed
	}
	return err
}
