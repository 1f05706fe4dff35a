package storedflags

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindFollower is the kind of records of users who follow a flag: Parent is the flag, ID the number
// of the user.
const kindFollower = "flag_follower"

// follower is the data of such a record.
type follower struct {
	User int64 `json:"user"`
}

// maxFollowers limits the followers of a flag.
const maxFollowers = 100

func followersOf(project, flag int64) string {
	return fmt.Sprintf("%s/flag/%d", management.ProjectParent(project), flag)
}

// Follow adds a user to the followers of a flag, or removes the user.
func Follow(tx management.Tx, project, flag, user int64, follows bool) error {
	parent, id := followersOf(project, flag), strconv.FormatInt(user, 10)
	if !follows {
		return tx.Delete(kindFollower, parent, id)
	}
	followers, err := Followers(tx, project, flag)
	switch {
	case err != nil || slices.Contains(followers, user):
		return err
	case len(followers) >= maxFollowers:
		return management.CodedFault(management.CodeMaxLength, "", "A flag has at most %d followers.", maxFollowers)
	}
	return tx.Put(&management.Record{Kind: kindFollower, Parent: parent, ID: id, Sort: storage.SortNumber(user), Data: storage.Encode(follower{user})})
}

// Followers returns the numbers of the users who follow a flag. Some may have lost access to it.
func Followers(tx management.Tx, project, flag int64) ([]int64, error) {
	list, err := management.ListRecords[follower](tx, management.Query{Kind: kindFollower, Parent: followersOf(project, flag)})
	users := make([]int64, len(list.Results))
	for i := range users {
		users[i] = list.Results[i].User
	}
	return users, err
}
