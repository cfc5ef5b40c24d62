//go:build race

package proxy

// raceDetector makes everything larger than it is.
const raceDetector = true
