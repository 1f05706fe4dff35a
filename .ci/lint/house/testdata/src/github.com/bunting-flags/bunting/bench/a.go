package bench

import _ "os"

func Exported() {}

func toldOthers() { // want `the name toldOthers has a part`
	whole := 1                  // want `the name whole has a part`
	wholesale, thingOne := 1, 2 // want `the name thingOne has a part`
	_, _, _ = whole, wholesale, thingOne
}
