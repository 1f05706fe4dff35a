package bench

import _ "os"

func Exported() {}

func toldOthers() { // want `the name toldOthers has a part`
	whole := 1                    // want `the name whole has a part`
	wholesale, leftHanded := 1, 2 // want `the name leftHanded has a part`
	_, _, _ = whole, wholesale, leftHanded
}
