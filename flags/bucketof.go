package flags

// Rollout is where an identifier falls in [0, 1] for the shares of a flag's conditions: at
// or below a share it is in (spec/flags.md §2.1). The zero Hash is PostHog's. Identifiers
// are hashed as they are: longer ones than 200 bytes are not cut.
func (h Hash) Rollout(flagKey, identifier string) float64 { return h.bucket(flagKey, identifier, "") }

// Variant is where an identifier falls in [0, 1] among a flag's variants, whose shares lie
// one after the other: it has the first one whose end is above (spec/flags.md §2.2).
func (h Hash) Variant(flagKey, identifier string) float64 {
	return h.bucket(flagKey, identifier, variantSalt)
}

func (h Hash) bucket(flagKey, identifier, salt string) float64 {
	input := []byte(flagKey + "." + identifier + salt)
	if h == Murmur3 {
		return hashMurmur3(input)
	}
	return hashSHA1(input)
}
