package flags

// undecidedContinuity is the missing fact of a continuity flag whose stored
// identifier could not be read.
var undecidedContinuity = &Undecided{Fact: "experience continuity", Name: "stored identifier"}

// bucketing finds the buckets of one flag: who is hashed (§2.3), and where the
// hash falls (§2.2). The bucket is kept from one condition to the next.
type bucketing struct {
	e *evaluation
	f *compiledFlag

	id         string
	known      bool // false: the stored identifier could not be read
	deviceless bool // device bucketing without a device id

	hashedID      string // whom rolloutBucket is for
	hashed        bool
	rolloutBucket float64
}

// resolve finds the identifier for a condition; false when it is about a group
// that the request does not name.
func (b *bucketing) resolve(cond *compiledCondition) bool {
	if cond.grouped {
		b.id, b.known, b.deviceless = b.e.subject.Groups[cond.group], true, false
		if cond.group == "" {
			b.id = ""
		}
		return b.id != ""
	}
	if b.f.bits&(bitDevice|bitContinuity) == 0 && b.e.subject.Stored == nil {
		b.id, b.known, b.deviceless = b.e.distinct, true, false // nearly always
		return true
	}
	b.id, b.known = b.e.personIdentifier(b.f)
	b.deviceless = b.f.is(bitDevice) && b.e.device == ""
	return true
}

// personIdentifier is the identifier of person conditions (§2.3).
func (e *evaluation) personIdentifier(f *compiledFlag) (id string, known bool) {
	sub := e.subject
	if f.is(bitDevice) && e.device != "" {
		return e.device, true
	}
	if stored := sub.Stored; stored != nil {
		if id, ok := stored.Overrides[f.key()]; ok {
			return id, true
		}
	}
	if !f.is(bitContinuity) {
		return e.distinct, true
	}
	loaded := sub.Stored != nil && sub.Stored.Overrides != nil
	if !loaded && sub.Partial {
		return "", false
	}
	if sub.AnonymousID != "" {
		return sub.AnonymousID, true
	}
	return e.distinct, true
}

// holdoutIdentifier is that of the flag as a whole: stored identifiers do not
// enter it, the request's anonymous id does.
func (e *evaluation) holdoutIdentifier(f *compiledFlag) string {
	switch {
	case f.is(bitGrouped):
		if f.group == "" {
			return ""
		}
		return e.subject.Groups[f.group]
	case f.is(bitDevice) && e.device != "":
		return e.device
	case f.is(bitContinuity) && e.subject.AnonymousID != "":
		return e.subject.AnonymousID
	}
	return e.distinct
}

// inRollout compares the bucket with the condition's share, hashing only when
// the answer can depend on it.
func (b *bucketing) inRollout(cond *compiledCondition) verdict {
	switch {
	case cond.all || cond.share >= 1:
		if t := b.e.trace; t != nil {
			t.rollout(b, cond, false, 0, yes)
		}
		return yes
	case cond.share < 0:
		return no
	case !b.known:
		return b.e.unknownFact(undecidedContinuity)
	case b.id == "":
		b.hashedID, b.hashed, b.rolloutBucket = "", true, 0
	case cond.share == 0:
		// Only a bucket of exactly 0 would do: one in 2^60.
		if t := b.e.trace; t != nil {
			t.rollout(b, cond, false, 0, no)
		}
		return no
	case !b.hashed || b.hashedID != b.id:
		b.hashedID, b.hashed, b.rolloutBucket = b.id, true, b.hash("")
	}
	in := is(b.rolloutBucket <= cond.share)
	if t := b.e.trace; t != nil {
		t.rollout(b, cond, true, b.rolloutBucket, in)
	}
	return in
}

// variant chooses the variant of a match; false when it cannot be known.
func (b *bucketing) variant(cond *compiledCondition) (variant int32, known bool) {
	f := b.f
	if cond.variant != noVariant {
		return cond.variant, true
	}
	if f.fixed != hashedVariant {
		return f.fixed, true
	}
	if !b.known {
		b.e.unknownFact(undecidedContinuity)
		return noVariant, false
	}
	bucket := 0.0
	if b.id != "" {
		bucket = b.hash(variantSalt)
	}
	variant = noVariant
	for i := range f.variants {
		if bucket < f.variants[i].below {
			variant = int32(i)
			break
		}
	}
	if t := b.e.trace; t != nil {
		t.variant(b, bucket, variant)
	}
	return variant, true
}

func (b *bucketing) hash(salt string) float64 {
	e := b.e
	if b.f.is(bitMurmur3) {
		e.input = append(append(append(e.input[:0], b.f.prefix...), b.id...), salt...)
		return hashMurmur3(e.input)
	}
	return e.sha1.sum(b.f.prefix, b.id, salt)
}
