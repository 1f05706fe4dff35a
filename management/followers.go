package management

// kindPlace is how far a follower of the log has come: ID is its name.
const kindPlace = "place"

type followerPlace struct {
	After int64 `json:"after"`
}

// PlaceOf is the place of a follower, 0 for one that has not begun.
func PlaceOf(tx Tx, follower string) (int64, error) {
	r, err := tx.Get(kindPlace, "", follower)
	if err != nil || r == nil {
		return 0, err
	}
	p, err := Decode[followerPlace](r)
	if err != nil {
		return 0, err
	}
	return p.After, nil
}

// PutPlace saves how far a follower has come.
func PutPlace(tx Tx, follower string, after int64) error {
	return tx.Put(&Record{Kind: kindPlace, ID: follower, Data: Encode(followerPlace{after})})
}
