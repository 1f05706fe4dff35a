// Package storedcohorts has the stored form of a cohort (spec/management.md §5.2), with the rules that
// every write of a cohort obeys. The packages that manage cohorts and flags use it; package cohorts
// has the operations of the API.
//
// Load and Decode read a Cohort. Assign applies the values of a request to it, and converts older
// formats of filters. Check refuses filters that cannot be evaluated, cycles, and changes that flags
// do not allow. Put stores the cohort and schedules its next count.
package storedcohorts
