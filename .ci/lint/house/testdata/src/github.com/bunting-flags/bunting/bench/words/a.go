package words // want `of 10,000 words of comments are in the list rareWords`

// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
// nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns nobody returns
