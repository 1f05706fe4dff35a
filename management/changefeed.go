package management

import (
	"context"
	"strconv"
)

// mostChanges is how many lines one call of ChangesAfter returns.
const mostChanges = 200

// ChangeMade is a line of the log of changes for who watches it (console.md N14).
type ChangeMade struct {
	Scope    string `json:"scope"`
	ItemID   string `json:"item_id"`
	Activity string `json:"activity"`
	// Version is that of the thing after the change, null where it has none.
	Version *int64  `json:"version"`
	User    *string `json:"user"` // e-mail; null for the server itself
	At      Stamp   `json:"at"`
	// Place is that in the log.
	Place int64 `json:"-"`
}

// ChangesAfter returns the lines of the log of the standing's project behind a place
// which the caller may see, oldest first, and the place to go on from: where there are
// more than mostChanges the newest. Below zero is the end of the log: no lines, but its
// place.
func (s *Service) ChangesAfter(ctx context.Context, st *Standing, place int64) (out []ChangeMade, next int64, err error) {
	next = max(place, 0)
	q := Query{Kind: KindActivity, Parent: st.Parent(), Descending: true, Limit: mostChanges}
	if place >= 0 {
		q.From = SortNumber(place + 1)
	} else {
		q.Limit = 1
	}
	_, err = Read(ctx, &s.Desk, func(tx Tx) (struct{}, error) {
		list, _, err := tx.List(q)
		if err != nil || len(list) == 0 {
			return struct{}{}, err
		}
		if next, err = strconv.ParseInt(list[0].Sort, 10, 64); err != nil || place < 0 {
			return struct{}{}, err
		}
		seen, err := (&ActivityQuery{}).seenBy(tx, st)
		for i := len(list) - 1; i >= 0 && err == nil; i-- {
			var a *storedActivity
			if a, err = Decode[storedActivity](&list[i]); err != nil || seen != nil && !seen(a) {
				continue
			}
			made := ChangeMade{Scope: a.Scope, ItemID: a.ItemID, Activity: a.Activity.Activity, User: a.Activity.User.Email, At: a.Created}
			if a.Version > 0 {
				made.Version = &a.Version
			}
			if made.Place, err = strconv.ParseInt(list[i].Sort, 10, 64); err == nil {
				out = append(out, made)
			}
		}
		return struct{}{}, err
	})
	return out, next, err
}
