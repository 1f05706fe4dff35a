package flags

import "github.com/bunting-flags/bunting/flags/wire"

// undecidedContinuity is the missing fact of a flag with continuity if the stored identifier
// could not be read.
var undecidedContinuity = &Undecided{Fact: "experience continuity", Name: "stored identifier"}

// bucketing computes the buckets of one flag: the hashed identifier (§2.3) and its hash
// (§2.2). The rollout bucket is cached from one condition to the next.
type bucketing struct {
	e *evaluation
	f *compiledFlag

	person    hashInput // input of conditions about persons
	hashInput           // input of the current condition

	bucketFor     string // the identifier that rolloutBucket belongs to
	bucketKnown   bool
	rolloutBucket float64
}

// hashInput is the identifier that is hashed for a condition.
type hashInput struct {
	id         string
	readable   bool // false if the stored identifier could not be read
	deviceless bool // device bucketing without a device id
}

// resolve selects the identifier for a condition. It returns false if the condition is about
// a group that the request does not name.
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

// personIdentifier returns the identifier for conditions about persons (§2.3): the device id,
// a stored override, the anonymous id or the distinct id.
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

// holdoutIdentifier returns the identifier of the flag's subject for holdouts. It does not
// use stored overrides, but does use the request's anonymous id.
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

// inRollout compares the bucket with the condition's share. It computes a hash only if the
// result can depend on it.
func (b *bucketing) inRollout(cond *compiledCondition) verdict {
	switch {
	case cond.all || cond.share >= 1:
		b.e.trace.rollout(b, cond, false, yes)
		return yes
	case cond.share < 0:
		b.e.trace.rollout(b, cond, false, no)
		return no
	case !b.readable:
		return b.e.recordUnknown(undecidedContinuity)
	case b.id == "":
		b.bucketFor, b.bucketKnown, b.rolloutBucket = "", true, 0
	case cond.share == 0:
		// Only a bucket of exactly 0 would be in: one in 2^60.
		b.e.trace.rollout(b, cond, false, no)
		return no
	case !b.bucketKnown || b.bucketFor != b.id:
		b.bucketFor, b.bucketKnown, b.rolloutBucket = b.id, true, b.hash("")
	}
	in := verdictOf(b.rolloutBucket <= cond.share)
	b.e.trace.rollout(b, cond, true, in)
	return in
}

// matchVariant returns the variant of a match, or hashedVariant if a hash selects it.
func (f *compiledFlag) matchVariant(cond *compiledCondition) int32 {
	if cond.variant != noVariant {
		return cond.variant
	}
	return f.fixed
}

// hashVariant selects the variant of a match by hash. It returns false if the identifier is
// unknown.
func (b *bucketing) hashVariant() (variant int32, ok bool) {
	f := b.f
	if !b.readable {
		b.e.recordUnknown(undecidedContinuity)
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

// hash returns the bucket of the current identifier.
func (b *bucketing) hash(salt string) float64 {
	e := b.e
	if b.f.has(bitMurmur3) {
		e.input = append(append(append(e.input[:0], b.f.prefix...), b.id...), salt...)
		return hashMurmur3(e.input)
	}
	return e.sha1.sum(b.f.prefix, b.id, salt)
}

// variantAt returns the index of the variant that a bucket falls into, or noVariant.
func (f *compiledFlag) variantAt(bucket float64) int32 {
	for i := range f.variants {
		if bucket < f.variants[i].below {
			return int32(i)
		}
	}
	return noVariant
}
