package bench

import (
	"crypto/sha1"
	"encoding/binary"
	"strings"
)

// The limit is the cost of the decisions if they are written by hand for one struct type. It
// implements the rules that affect values (the hash of spec/flags.md §2, text without regard to
// case) and no more: no definitions, no reasons, no property map.

// bucket is H of spec/flags.md §2.1.
func bucket(key, id, salt string) float64 {
	var space [128]byte
	b := append(space[:0], key...)
	b = append(b, '.')
	b = append(b, id...)
	b = append(b, salt...)
	sum := sha1.Sum(b)
	return float64(binary.BigEndian.Uint64(sum[:8])>>4) / (1 << 60)
}

// containsFold reports whether s contains sub, which is in lower case, without regard to the case
// of ASCII letters (§4.3).
func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		j := 0
		for j < len(sub) && lower(s[i+j]) == sub[j] {
			j++
		}
		if j == len(sub) {
			return true
		}
	}
	return false
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func isPaying(u *User) bool {
	return strings.EqualFold(u.Plan, "pro") || strings.EqualFold(u.Plan, "team")
}

func isAmerican(u *User) bool {
	for _, c := range [...]string{"US", "CA", "MX", "BR", "AR", "CL", "CO", "PE", "UY", "PA"} {
		if strings.EqualFold(u.Country, c) {
			return true
		}
	}
	return false
}

func limitHalf(key string, u *User) Answer { return Answer{On: bucket(key, u.ID, "") <= 0.50} }

func limitTenth(key string, u *User) Answer {
	return Answer{On: u.Age >= 18 && bucket(key, u.ID, "") <= 0.10}
}

func limitThreeWays(_ string, u *User) Answer {
	return Answer{On: isAmerican(u) || containsFold(u.Email, "@corp.test") || u.Age >= 30}
}

func limitFourFold(key string, u *User) Answer {
	if !isPaying(u) {
		return Answer{}
	}
	switch h := bucket(key, u.ID, "variant"); {
	case h < 0.25:
		return Answer{true, "control"}
	case h < 0.50:
		return Answer{true, "blue"}
	case h < 0.75:
		return Answer{true, "green"}
	default:
		return Answer{true, "red"}
	}
}

func limitSplit(key string, u *User) Answer {
	if bucket(key, u.ID, "variant") < 0.50 {
		return Answer{true, "control"}
	}
	return Answer{true, "test"}
}

func limitPayingPart(key string, u *User) Answer {
	return Answer{On: isPaying(u) && bucket(key, u.ID, "") <= 0.40}
}

func limitTrial(key string, u *User) Answer {
	if strings.EqualFold(u.Plan, "free") || bucket(key, u.ID, "") > 0.60 {
		return Answer{}
	}
	switch h := bucket(key, u.ID, "variant"); {
	case h < 0.50:
		return Answer{true, "a"}
	case h < 0.80:
		return Answer{true, "b"}
	default:
		return Answer{true, "c"}
	}
}

func limitTwoTests(key string, u *User) Answer {
	return Answer{On: containsFold(u.Email, "@example.com") && u.Age >= 18 && bucket(key, u.ID, "") <= 0.75}
}

func limitFarAway(_ string, u *User) Answer {
	return Answer{On: strings.EqualFold(u.Country, "JP") || strings.EqualFold(u.Country, "KR")}
}

func limitNotFreePart(key string, u *User) Answer {
	return Answer{On: !strings.EqualFold(u.Plan, "free") && bucket(key, u.ID, "") <= 0.30}
}
