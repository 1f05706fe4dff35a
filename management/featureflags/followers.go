package featureflags

import (
	"context"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Followers are the users who get the notices about a flag, such as those of its guarded rollouts.
type Followers struct {
	// Following reports whether the caller is one of them.
	Following bool                  `json:"following"`
	Count     int                   `json:"count"`
	Results   []management.UserView `json:"results"`
}

// Followers returns the followers of a flag. Users who were deleted are omitted.
func (s Flags) Followers(ctx context.Context, scope *management.Scope, id string) (*Followers, error) {
	return resource.ReadOne(ctx, s.flags, scope, id, showFollowers)
}

// Follow adds the caller to the followers of a flag, or removes the caller. The caller needs to be
// able to view the flag.
func (s Flags) Follow(ctx context.Context, scope *management.Scope, id string, follows bool) (*Followers, error) {
	return management.Write(ctx, &s.Env, func(tx storeTx) (*Followers, error) {
		v := &view{Tx: tx, Scope: scope}
		f, err := s.flags.Load(v, id)
		if err == nil {
			err = v.RequireAccess(management.Viewer, f.AccessObject())
		}
		if err == nil {
			err = storedflags.Follow(tx, scope.Project.ID, f.ID, scope.User.ID, follows)
		}
		if err != nil {
			return nil, err
		}
		return showFollowers(v, f)
	})
}

func showFollowers(v *view, f *storedflags.Flag) (*Followers, error) {
	users, err := storedflags.Followers(v.Tx, f.Project, f.ID)
	out := &Followers{Results: []management.UserView{}}
	for _, id := range users {
		u, err := v.Author(id)
		if err != nil {
			return nil, err
		}
		if u != nil {
			out.Results = append(out.Results, *u)
			out.Following = out.Following || id == v.User.ID
		}
	}
	out.Count = len(out.Results)
	return out, err
}
