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

	person    hashInput // by conditions about persons
	hashInput           // by the condition that is tried

	bucketFor     string // whom rolloutBucket is for
	bucketKnown   bool
	rolloutBucket float64
}

// hashInput is who falls into a bucket.
type hashInput struct {
	id         string
	readable   bool // false: the stored identifier could not be read
	deviceless bool // device bucketing without a device id
}

// resolve finds out who is hashed for a condition; false when it is about a group
// that the request does not name.
func (b *bucketing) resolve(cond *compiledCondition) bool {
	if cond.grouped {
		return b.resolveGroup(cond.group)
	}
	b.hashInput = b.person
	return true
}

func (b *bucketing) resolveGroup(group string) bool {
	b.hashInput = hashInput{readable: true}
	if group != "" {
		b.id = b.e.subject.Groups[group]
	}
	return b.id != ""
}

// personIdentifier is the identifier of person conditions (§2.3).
func (e *evaluation) personIdentifier(f *compiledFlag) hashInput {
	sub := e.subject
	h := hashInput{id: e.distinct, readable: true, deviceless: f.has(bitDevice) && e.device == ""}
	if f.has(bitDevice) && e.device != "" {
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
	case !f.has(bitContinuity):
	case !loaded && sub.Partial:
		h.id, h.readable = "", false
	case e.anonymous != "":
		h.id = e.anonymous
	}
	return h
}

// holdoutIdentifier is that of the flag as a whole: stored identifiers do not
// enter it, the request's anonymous id does.
func (e *evaluation) holdoutIdentifier(f *compiledFlag) string {
	switch {
	case f.has(bitGrouped):
		if f.group == "" {
			return ""
		}
		return e.subject.Groups[f.group]
	case f.has(bitDevice) && e.device != "":
		return e.device
	case f.has(bitContinuity) && e.anonymous != "":
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
	case !b.readable:
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
	in := verdictOf(b.rolloutBucket <= cond.share)
	b.e.trace.rollout(b, cond, true, in)
	return in
}

// matchVariant is the variant of a match where no hash decides, else hashedVariant.
func (f *compiledFlag) matchVariant(cond *compiledCondition) int32 {
	if cond.variant != noVariant {
		return cond.variant
	}
	return f.fixed
}

// hashVariant chooses the variant of a match; false when it cannot be known.
func (b *bucketing) hashVariant() (variant int32, ok bool) {
	f := b.f
	if !b.readable {
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
	if b.f.has(bitMurmur3) {
		e.input = append(append(append(e.input[:0], b.f.prefix...), b.id...), salt...)
		return hashMurmur3(e.input)
	}
	return e.sha1.sum(b.f.prefix, b.id, salt)
}
