package management

// kindFollowerPosition is how far a follower of the log has come: ID is its name.
const kindFollowerPosition = "place"

type followerPosition struct {
	After int64 `json:"after"`
}

// FollowerPosition is the place of a follower, 0 for one that has not begun.
func FollowerPosition(tx Tx, follower string) (int64, error) {
	r, err := tx.Get(kindFollowerPosition, "", follower)
	if err != nil || r == nil {
		return 0, err
	}
	p, err := Decode[followerPosition](r)
	if err != nil {
		return 0, err
	}
	return p.After, nil
}

// PutFollowerPosition saves how far a follower has come.
func PutFollowerPosition(tx Tx, follower string, after int64) error {
	return tx.Put(&Record{Kind: kindFollowerPosition, ID: follower, Data: Encode(followerPosition{after})})
}
