package flags

import "github.com/bunting-flags/bunting/flags/wire"

// undecidedContinuity is the missing fact of a continuity flag whose stored
// identifier could not be read.
var undecidedContinuity = &Undecided{Fact: "experience continuity", Name: "stored identifier"}

// bucketing finds the buckets of one flag: who is hashed (§2.3), and where the
// hash falls (§2.2). The bucket is kept from one condition to the next.
type bucketing struct {
	e *evaluation
	f *compiledFlag

	person hashed // by conditions about persons
	hashed        // by the condition that is tried

	bucketFor     string // whom rolloutBucket is for
	bucketKnown   bool
	rolloutBucket float64
}

// hashed is who falls into a bucket.
type hashed struct {
	id         string
	known      bool // false: the stored identifier could not be read
	deviceless bool // device bucketing without a device id
}

// resolve finds out who is hashed for a condition; false when it is about a group
// that the request does not name.
func (b *bucketing) resolve(cond *compiledCondition) bool {
	if cond.grouped {
		return b.resolveGroup(cond.group)
	}
	b.hashed = b.person
	return true
}

func (b *bucketing) resolveGroup(group string) bool {
	b.hashed = hashed{known: true}
	if group != "" {
		b.id = b.e.subject.Groups[group]
	}
	return b.id != ""
}

// personIdentifier is the identifier of person conditions (§2.3).
func (e *evaluation) personIdentifier(f *compiledFlag) hashed {
	sub := e.subject
	h := hashed{id: e.distinct, known: true, deviceless: f.is(bitDevice) && e.device == ""}
	if f.is(bitDevice) && e.device != "" {
		h.id = e.device
		return h
	}
	if stored := sub.Stored; stored != nil {
		if id, ok := stored.Overrides[f.key()]; ok && id != wire.CookielessID {
			h.id = id
			return h
		}
	}
	loaded := sub.Stored != nil && sub.Stored.Overrides != nil
	switch {
	case !f.is(bitContinuity):
	case !loaded && sub.Partial:
		h.id, h.known = "", false
	case e.anonymous != "":
		h.id = e.anonymous
	}
	return h
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
	case f.is(bitContinuity) && e.anonymous != "":
		return e.anonymous
	}
	return e.distinct
}

// inRollout compares the bucket with the condition's share, hashing only when
// the answer can depend on it.
func (b *bucketing) inRollout(cond *compiledCondition) verdict {
	switch {
	case cond.all || cond.share >= 1:
		b.e.trace.rollout(b, cond, false, yes)
		return yes
	case cond.share < 0:
		b.e.trace.rollout(b, cond, false, no)
		return no
	case !b.known:
		return b.e.unknownFact(undecidedContinuity)
	case b.id == "":
		b.bucketFor, b.bucketKnown, b.rolloutBucket = "", true, 0
	case cond.share == 0:
		// Only a bucket of exactly 0 would do: one in 2^60.
		b.e.trace.rollout(b, cond, false, no)
		return no
	case !b.bucketKnown || b.bucketFor != b.id:
		b.bucketFor, b.bucketKnown, b.rolloutBucket = b.id, true, b.hash("")
	}
	in := is(b.rolloutBucket <= cond.share)
	b.e.trace.rollout(b, cond, true, in)
	return in
}

// chosen is the variant of a match where no hash decides, else hashedVariant.
func (f *compiledFlag) chosen(cond *compiledCondition) int32 {
	if cond.variant != noVariant {
		return cond.variant
	}
	return f.fixed
}

// hashVariant chooses the variant of a match; false when it cannot be known.
func (b *bucketing) hashVariant() (variant int32, known bool) {
	f := b.f
	if !b.known {
		b.e.unknownFact(undecidedContinuity)
		return noVariant, false
	}
	bucket := 0.0
	if b.id != "" {
		bucket = b.hash(variantSalt)
	}
	variant = f.variantAt(bucket)
	b.e.trace.variant(b, bucket, variant)
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
