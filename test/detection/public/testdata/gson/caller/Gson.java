package com.example.shop;

import com.example.bench.Main;
import com.google.gson.GsonBuilder;
import java.util.ArrayList;
import java.util.List;

/** Writes orders as JSON and reads them again. */
public class Gson implements Main.Op {
    static class Item { String sku; int count; double price; }
    static class Order { int id; String name; List<Item> items = new ArrayList<>(); }

    private final com.google.gson.Gson gson = new GsonBuilder().create();
    private final Order[] orders = new Order[30];

    public Gson() {
        for (int i = 0; i < orders.length; i++) {
            Order o = orders[i] = new Order();
            o.id = i;
            o.name = "order " + i;
            for (int j = 0; j < 5; j++) {
                Item m = new Item();
                m.sku = "AB-" + j;
                m.count = j;
                m.price = j * 1.5;
                o.items.add(m);
            }
        }
    }

    Order[] copyOrders() {
        return gson.fromJson(gson.toJson(orders), Order[].class);
    }

    public Object op() {
        return copyOrders();
    }
}
