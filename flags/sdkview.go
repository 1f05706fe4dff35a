package flags

import "github.com/bunting-flags/bunting/flags/internal/inside"

func init() {
	inside.SDKView = func(definitions any) any { return newSDKView(definitions.(*Definitions)) }
}

// sdkView shows package sdklint what definitions mean for their payload.
type sdkView struct{ p *payloadBuilder }

func newSDKView(d *Definitions) sdkView { return sdkView{newPayload(d, Compile(*d))} }

func (v sdkView) IsServed(flag int32) bool { return v.p.isServed(flag) }

func (v sdkView) IsInPayload(flag int32) bool {
	return v.p.isServed(flag) && !v.p.d.Flags[flag].isWithheld()
}

func (v sdkView) IsFirst(flag int32) bool {
	used, found := v.p.set.byKey[v.p.d.Flags[flag].Key]
	return !found || used == flag
}

func (v sdkView) compiled(key string) *compiledFlag { return &v.p.set.flags[v.p.set.byKey[key]] }

func (v sdkView) IsMurmur3(key string) bool { return v.compiled(key).has(bitMurmur3) }

func (v sdkView) NeedsBucket(key string) bool { return v.compiled(key).needsBucket() }

func (v sdkView) IsFromText(f *Flag) bool { return f.source != "" }

func (v sdkView) Target(p *Property) (flag int32, ok bool) { return v.p.target(p) }

func (v sdkView) HasChain(flag int32) bool { return len(v.p.chain(flag)) > 0 }

func (v sdkView) IsStatic(cohort int64) bool { return v.p.staticCohorts[cohort] }

func (v sdkView) IsFaulty(cohort int64) bool { return v.p.d.Cohorts[cohort].fault != nil }

// ServedCohorts returns the cohorts of all flags in the payload.
func (v sdkView) ServedCohorts() map[string]any {
	for i := range v.p.d.Flags {
		if v.IsInPayload(int32(i)) {
			v.p.reachFlag(&v.p.d.Flags[i])
		}
	}
	return v.p.cohorts()
}

func (v sdkView) Operator(o Operator, t PropertyType) (name Operator, takesLists, strict bool) {
	name = o.orDefault(t)
	op := operators[name]
	return name, op != nil && op.any != nil, op != nil && op.strict
}
