package management

import (
	"context"
	"strconv"

	"github.com/bunting-flags/bunting/management/internal/storage"
)

// maxChanges is the greatest number of lines that one call of ChangesAfter reads.
const maxChanges = 200

// loggedChange is a line of the log for clients that watch it (console.md N14).
type loggedChange struct {
	Scope    string `json:"scope"`
	ItemID   string `json:"item_id"`
	Activity string `json:"activity"`
	// Version is the object's version after the change, null for objects without versions.
	Version *int64  `json:"version"`
	User    *string `json:"user"` // e-mail address; null for the server itself
	Time    Stamp   `json:"at"`
	// Position is the position of the line in the log.
	Position int64 `json:"-"`
}

// ChangesAfter returns the lines of the log of the scope's project after a position that the caller
// may see, oldest first, and the position from which to continue. If there are more than maxChanges
// it returns only the newest. A negative position stands for the end of the log: there are no
// lines, and next is the position of the last line.
func (s *Service) ChangesAfter(ctx context.Context, scope *Scope, position int64) (out []loggedChange, next int64, err error) {
	next = max(position, 0)
	q := Query{Kind: storage.KindActivity, Parent: scope.Parent(), Descending: true, Limit: maxChanges}
	if position >= 0 {
		q.From = storage.SortNumber(position + 1)
	} else {
		q.Limit = 1
	}
	_, err = Read(ctx, &s.Env, func(tx Tx) (struct{}, error) {
		list, _, err := tx.List(q)
		if err != nil || len(list) == 0 {
			return struct{}{}, err
		}
		if next, err = strconv.ParseInt(list[0].Sort, 10, 64); err != nil || position < 0 {
			return struct{}{}, err
		}
		isVisible, err := (&ActivityQuery{}).lineFilter(tx, scope)
		for i := len(list) - 1; i >= 0 && err == nil; i-- {
			var a *storedActivity
			if a, err = Decode[storedActivity](&list[i]); err != nil || isVisible != nil && !isVisible(a) {
				continue
			}
			change := loggedChange{Scope: a.Scope, ItemID: a.ItemID, Activity: a.Activity.Activity, User: a.Activity.User.Email, Time: a.Created}
			if a.Version > 0 {
				change.Version = &a.Version
			}
			if change.Position, err = strconv.ParseInt(list[i].Sort, 10, 64); err == nil {
				out = append(out, change)
			}
		}
		return struct{}{}, err
	})
	return out, next, err
}
