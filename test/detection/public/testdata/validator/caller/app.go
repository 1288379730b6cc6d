package app

import "github.com/go-playground/validator/v10"

type Address struct {
	Street string `validate:"required"`
	City   string `validate:"required,min=2,max=40"`
	Zip    string `validate:"required,numeric"`
}

type User struct {
	Name      string    `validate:"required"`
	Email     string    `validate:"required,email"`
	Age       uint8     `validate:"gte=0,lte=130"`
	Addresses []Address `validate:"required,dive,required"`
}

func Users() (list []User) {
	for range 50 {
		list = append(list, User{"Ann Other", "ann.other@example.com", 40, []Address{{"Street 1", "Town", "12345"}, {"Lane 2", "City", "54321"}}})
	}
	return list
}

var check = validator.New()

// Valid returns the number of valid users.
func Valid(users []User) (n int) {
	for i := range users {
		if check.Struct(&users[i]) == nil {
			n++
		}
	}
	return n
}
