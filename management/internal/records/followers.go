package records

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindFollowerPosition is the kind of records of the position up to which a follower of the log has
// read it; ID is the follower's name.
const kindFollowerPosition = "place"

// followerPosition is the data of such a record: the position of the last line that was read.
type followerPosition struct {
	After int64 `json:"after"`
}

// FollowerPosition returns the position of a follower, or 0 if it has no position yet.
func FollowerPosition(tx management.Tx, follower string) (int64, error) {
	p, err := management.Found[followerPosition](tx.Get(kindFollowerPosition, "", follower))
	if err != nil || p == nil {
		return 0, err
	}
	return p.After, nil
}

// PutFollowerPosition saves the position of a follower.
func PutFollowerPosition(tx management.Tx, follower string, after int64) error {
	return tx.Put(&management.Record{Kind: kindFollowerPosition, ID: follower, Data: storage.Encode(followerPosition{after})})
}
