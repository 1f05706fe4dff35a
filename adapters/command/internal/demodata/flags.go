package demodata

import (
	"fmt"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// Flag is one of the demo's flags.
type Flag struct {
	Key, About string
	// filters are the conditions and variants, with COHORT for the id of the cohort.
	filters string
	// on is the place of the flag's first call: a page, an event, or "" for any page.
	on string
}

// Filters returns the flag's conditions and variants, for a cohort with the given id.
func (f *Flag) Filters(cohort string) string { return strings.ReplaceAll(f.filters, "COHORT", cohort) }

// The keys of the flags of the experiment and of the guarded rollout.
const (
	CheckoutFlag = "demo-checkout"
	RolloutFlag  = "demo-recommendations"
)

// Flags are the flags, each of a different kind.
var Flags = []Flag{
	{"demo-banner", "A plain switch: the banner of the spring sale, for everybody.", `{"groups":[{"properties":[],"rollout_percentage":100}]}`, ""},
	{"demo-new-search", "A condition and a percentage: half of those who came through the newsletter or a friend.", `{"groups":[{"properties":[{"key":"first_source","type":"person","operator":"exact","value":["newsletter","a friend"]}],"rollout_percentage":50}]}`, "/shop"},
	{"demo-shop-layout", "Three variants with payloads.", `{"groups":[{"properties":[],"rollout_percentage":100}],"multivariate":{"variants":[{"key":"grid","name":"Grid","rollout_percentage":34},{"key":"list","name":"List","rollout_percentage":33},{"key":"cards","name":"Cards","rollout_percentage":33}]},"payloads":{"grid":"{\"columns\": 3}","list":"{\"columns\": 1}","cards":"{\"columns\": 2}"}}`, "/shop"},
	{"demo-discount", "For a cohort: customers with the plan pro.", `{"groups":[{"properties":[{"key":"id","type":"cohort","operator":"in","value":COHORT}],"rollout_percentage":100}]}`, "item added"},
	{CheckoutFlag, "The flag of an experiment: the checkout on one page.", `{"groups":[{"properties":[],"rollout_percentage":100}],"multivariate":{"variants":[{"key":"control","name":"Three pages","rollout_percentage":50},{"key":"test","name":"One page","rollout_percentage":50}]}}`, "item added"},
	{RolloutFlag, "The flag of a guarded rollout: recommendations next to a lamp.", `{"groups":[{"properties":[],"rollout_percentage":0}]}`, "/shop/lamp"},
}

// FlagOf returns the demo's flag with a key, or nil.
func FlagOf(key string) *Flag {
	for i := range Flags {
		if Flags[i].Key == key {
			return &Flags[i]
		}
	}
	return nil
}

// checkoutSet contains the flag of the experiment with its original filters. It determines which persons
// order, so that the events of a day do not change if a user changes the flag.
var checkoutSet = func() *flags.Set {
	d, err := flags.ParseDefinitions(fmt.Appendf(nil, `{"flags":[{"id":1,"key":%q,"active":true,"filters":%s}]}`, CheckoutFlag, FlagOf(CheckoutFlag).filters))
	if err != nil {
		panic(err) // the filters above are valid
	}
	return flags.Compile(d)
}()
