package organizations

import (
	"context"

	"github.com/bunting-flags/bunting/management"
)

// CheckBackupAccess returns an error unless the caller may read everything that the server stores.
// The caller must own every organization, and the key must have the scope * without a limit to
// projects or organizations.
func (s Service) CheckBackupAccess(ctx context.Context, c *management.Caller) error {
	if err := c.Require(management.InternalScope); err != nil {
		return err
	}
	if len(c.Key.Projects)+len(c.Key.Organizations) > 0 {
		return management.Denied("A backup contains all data: the API key must not be limited to projects or organizations.")
	}
	return s.Env.Store.Read(ctx, func(tx Tx) error {
		// A backup has the data of all organizations, so owning some of them is not enough.
		all, err := tx.Organizations()
		if err != nil {
			return err
		}
		for i := range all {
			if c.Level(all[i].ID) < management.Owner {
				return management.Denied("A backup contains all organizations: only a user who owns all of them may download it. On the server itself, use bunting backup.")
			}
		}
		return nil
	})
}
