package flags

// Rollout returns the bucket of an identifier for the rollouts of a flag's conditions, from 0
// to 1. The identifier is in a rollout if its bucket is at most the rollout's share
// (spec/flags.md §2.1). The zero Hash is SHA-1, as in PostHog. The identifier is hashed as it
// is: unlike in an evaluation, ids longer than 200 bytes are not cut.
func (h Hash) Rollout(flagKey, identifier string) float64 { return h.bucket(flagKey, identifier, "") }

// Variant returns the bucket of an identifier for the variants of a flag, from 0 to 1. The
// variants' shares are added up in their order, and the identifier has the first variant with
// a sum greater than the bucket (spec/flags.md §2.2).
func (h Hash) Variant(flagKey, identifier string) float64 {
	return h.bucket(flagKey, identifier, variantSalt)
}

// bucket hashes "<flag key>.<identifier><salt>" (§2.1, §2.2).
func (h Hash) bucket(flagKey, identifier, salt string) float64 {
	input := []byte(flagKey + "." + identifier + salt)
	if h == Murmur3 {
		return hashMurmur3(input)
	}
	return hashSHA1(input)
}
