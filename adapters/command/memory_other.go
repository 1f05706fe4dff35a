//go:build !linux

package command

// unmapProgram does nothing where the kernel has no way to do it.
func unmapProgram() {}
