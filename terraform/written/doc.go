// Package written reads a configuration as people wrote it, for what Terraform doesn't tell providers: where
// an object has a name that its type hasn't, Terraform drops it silently, so that a misspelt nested attribute has no effect and
// nobody hears of it.
package written
